// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The process that takes a snapshot. Its main thread does nothing that may hang: it watches the
 * worker, reports to the daemon, and ends when the daemon has gone or closed the socket.
 */
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "hashed_names.h"
#include "kinds.h"

#define TELL_MS	    200
#define PATIENCE_MS 15000
#define HUNG_MAX    16 /* things that hang before the whole snapshot is given up */

struct helper {
	struct helper_order order;
	struct job job;
	const struct job_kind *kind;
	int done_fd;
	_Atomic int result; /* valid when done_fd is signalled */
	uint64_t call;	    /* the call that was in flight at the last check; the next is since when */
	uint64_t call_since_ms;
	unsigned int hung;
};

/* Sets idle priorities for a walk, which takes long; the other kinds are to show one moment. */
static void use_idle_priority(enum snapshot_kind kind)
{
	const struct sched_param none = { 0 };

	if (kind != SNAPSHOT_FILESYSTEM)
		return;
	pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
}

static void *work(void *argument)
{
	struct helper *helper = argument;
	int r = 0;

	use_idle_priority(helper->order.request.kind);
	rights_use(&helper->order.request.reads);
	if (!helper->job.state)
		r = helper->kind->begin(&helper->job);
	atomic_store(&helper->result, r < 0 ? r : helper->kind->run(&helper->job));
	eventfd_write(helper->done_fd, 1);
	return NULL;
}

static int start_worker(struct helper *helper)
{
	pthread_t thread;
	int r = pthread_create(&thread, NULL, work, helper);

	if (!r)
		pthread_detach(thread);
	return -r;
}

static void describe(const struct helper *helper, struct snapshot_state *state)
{
	const struct job *job = &helper->job;

	*state = (struct snapshot_state){
		.started_ns = job->started_ns,
		.rows = atomic_load(&job->rows),
		.skipped = atomic_load(&job->skipped),
	};
}

static void tell(const struct helper *helper)
{
	struct snapshot_state state;

	describe(helper, &state);
	send(HELPER_SOCKET, &state, sizeof(state), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Reports the result and ends the process: that ends all threads, also those that hang. */
__attribute__((noreturn)) static void end(struct helper *helper, int result)
{
	struct snapshot_state state;

	describe(helper, &state);
	state.ended_ns = clock_ns(CLOCK_REALTIME);
	state.error = result;
	memcpy(state.message, helper->job.message, sizeof(state.message));
	if (result >= 0) {
		state.file_count = helper->job.file_count;
		memcpy(state.files, helper->job.files, sizeof(state.files));
	} else if (!*state.message) {
		snprintf(state.message, sizeof(state.message), "%s", strerror(-result));
	}
	send(HELPER_SOCKET, &state, sizeof(state), MSG_NOSIGNAL);
	_exit(EXIT_SUCCESS);
}

static void remove_parts(const struct helper *helper)
{
	const struct snapshot_request *request = &helper->order.request;
	const struct rights *before = rights_use(&request->writes);

	files_remove_parts(HELPER_OUTPUT, request->kind, request->number);
	rights_use(before);
}

/* Ends while the worker hangs: what it has not finished is removed by its name. */
__attribute__((noreturn)) static void end_without_worker(struct helper *helper, int result)
{
	remove_parts(helper);
	end(helper, result);
}

/* Ends after the worker has ended: what it has not finished can be removed. */
static void finish(struct helper *helper)
{
	int result = atomic_load(&helper->result);

	helper->kind->done(&helper->job);
	end(helper, result);
}

/* Gives up the call in flight; another thread goes on with what is left. */
static void pass_over(struct helper *helper, unsigned int patience_ms)
{
	struct job *job = &helper->job;
	const char *what;

	if (!guard_abandon(&job->guard, helper->call))
		return;
	helper->call = 0;
	what = helper->kind->pass(job);
	job_fail(job, 0, "%.400s does not answer after %u s and was left out", what,
		 (patience_ms + 999) / 1000);
	if (++helper->hung == HUNG_MAX)
		end_without_worker(helper, job_fail(job, -ETIMEDOUT,
						    "%d things do not answer, the last of them %.300s",
						    HUNG_MAX, what));
	if (start_worker(helper) < 0)
		end_without_worker(helper, job_fail(job, -EAGAIN, "%s", strerror(EAGAIN)));
}

static void watch_worker(struct helper *helper)
{
	unsigned int patience_ms = helper->order.request.patience_ms ?: PATIENCE_MS;
	uint64_t call = guard_call(&helper->job.guard);
	uint64_t now_ms = clock_ns(CLOCK_MONOTONIC) / 1000000;

	if (call != helper->call || !call) {
		helper->call = call;
		helper->call_since_ms = now_ms;
	} else if (now_ms - helper->call_since_ms >= patience_ms) {
		pass_over(helper, patience_ms);
	}
}

/* Ends without a result, as the daemon does not wait for it any more. */
__attribute__((noreturn)) static void give_up(const struct helper *helper)
{
	remove_parts(helper);
	_exit(EXIT_FAILURE);
}

static void watch(struct helper *helper)
{
	struct pollfd fds[] = { { .fd = HELPER_SOCKET, .events = POLLIN },
				{ .fd = helper->done_fd, .events = POLLIN } };

	for (;;) {
		poll(fds, 2, TELL_MS);
		if (fds[1].revents)
			finish(helper);
		if (fds[0].revents)
			give_up(helper);
		watch_worker(helper);
		tell(helper);
	}
}

static int receive_order(struct helper_order *order)
{
	ssize_t size = recv(HELPER_SOCKET, order, sizeof(*order), 0);

	if (size != sizeof(*order) || order->version[sizeof(order->version) - 1] ||
	    strcmp(order->version, IOTRACER_VERSION) ||
	    order->request.kind >= SNAPSHOT_KIND_COUNT)
		return -EPROTO;
	order->request.root[sizeof(order->request.root) - 1] = '\0';
	order->request.country[sizeof(order->request.country) - 1] = '\0';
	order->request.host[sizeof(order->request.host) - 1] = '\0';
	return 0;
}

/* Sets up the hashes of names; the key is then in these alone. */
static int set_names(struct helper *helper)
{
	struct snapshot_request *request = &helper->order.request;
	struct hashed_names *names = NULL;
	int r = request->anonymize ? hashed_names_new(request->anonymize_key, &names) : 0;

	explicit_bzero(request->anonymize_key, sizeof(request->anonymize_key));
	if (r < 0)
		return r;
	if (names) {
		helper->job.names = hashed_name;
		helper->job.names_userdata = names;
	}
	return 0;
}

int snapshot_helper(void)
{
	static struct helper helper;
	int r;

	prctl(PR_SET_NAME, "iotracerd");
	umask(0027);
	r = receive_order(&helper.order);
	helper.kind = job_kinds[r < 0 ? 0 : helper.order.request.kind];
	helper.job.request = &helper.order.request;
	helper.job.output_fd = HELPER_OUTPUT;
	helper.job.tasks_fd = HELPER_TASKS;
	helper.job.started_ns = clock_ns(CLOCK_REALTIME);
	if (r < 0)
		end(&helper, job_fail(&helper.job, r, "the program was replaced: restart iotracerd"));
	helper.done_fd = eventfd(0, EFD_CLOEXEC);
	r = helper.done_fd < 0 ? -errno : set_names(&helper);
	if (r >= 0)
		r = start_worker(&helper);
	if (r < 0)
		end(&helper, r);
	watch(&helper);
	return EXIT_FAILURE;
}
