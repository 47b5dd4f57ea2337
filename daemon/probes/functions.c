// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/functions_private.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "probes/calls.h"
#include "probes/clone.h"
#include "probes/leave_behind.h"
#include "probes/program.h"
#include "thread.h"

/*
 * Seconds that hooks stay after the last session: each takes the kernel milliseconds to attach, and whoever ends a
 * session often begins another one soon, which has them at once then.
 */
#define LINGER_S 5

/* Of the thread while it detaches them, for which nobody waits: seconds of a CPU in all. */
#define NICE 10

/* ---- the thread ---- */

static int attach(int program, int *link)
{
	int fd;

	if (program < 0 || *link >= 0)
		return 0;
	fd = bpf_raw_tracepoint_open(NULL, program);
	if (fd < 0)
		return -errno;
	__atomic_store_n(link, fd, __ATOMIC_RELAXED);
	return 0;
}

static void detach(int *link)
{
	closep(link);
	__atomic_store_n(link, -1, __ATOMIC_RELAXED);
}

static void function_attach(struct functions *functions, size_t i)
{
	struct function *function = &functions->all[i];
	int r = 0;

	for (enum side side = 0; side < SIDE_COUNT && r >= 0; side++)
		r = attach(function->programs[side], &function->links[side]);
	function->error = r;
	if (r < 0 && !function->inner_program)
		log_message(ABOUT(HOOK_MISSING, .hook = calls[i - functions->inner].name, .error = -r),
			    "cannot attach a hook on the function of %s: %s", calls[i - functions->inner].name,
			    strerror(-r));
}

static void function_detach(struct function *function)
{
	for (enum side side = SIDE_COUNT; side-- > 0;)
		detach(&function->links[side]);
	function->error = 0;
}

static void reach(struct functions *functions, uint32_t order, size_t reached)
{
	pthread_mutex_lock(&functions->lock);
	if (functions->order == order && functions->reached < reached)
		functions->reached = reached;
	pthread_mutex_unlock(&functions->lock);
	if (reached == functions->sources || reached == functions->inner)
		eventfd_write(functions->notice, 1);
}

static bool stands(const struct functions *functions, uint32_t order)
{
	return !atomic_load(&functions->quit) && atomic_load(&functions->order) == order;
}

/* The first so many. False: there is another order by now. */
static bool attach_until(struct functions *functions, uint32_t order, size_t end)
{
	setpriority(PRIO_PROCESS, 0, 0); /* on Linux this affects the calling thread alone */
	for (size_t i = 0; i < end; i++) {
		if (!stands(functions, order))
			return false;
		function_attach(functions, i);
		reach(functions, order, i + 1);
	}
	return true;
}

/* All but these. The inner ones are the last, so that they are still there for a session that soon follows. */
static bool detach_from(struct functions *functions, uint32_t order, size_t end)
{
	setpriority(PRIO_PROCESS, 0, NICE);
	for (size_t i = functions->count; i-- > end;) {
		if (!stands(functions, order))
			return false;
		function_detach(&functions->all[i]);
	}
	return true;
}

/* Does a part of an order without the lock, with which it is called. */
static bool unlocked(struct functions *functions, bool (*part)(struct functions *functions, uint32_t order, size_t end),
		     uint32_t order, size_t end)
{
	bool whole;

	functions->busy = true;
	pthread_mutex_unlock(&functions->lock);
	whole = part(functions, order, end);
	pthread_mutex_lock(&functions->lock);
	functions->busy = false;
	return whole;
}

static size_t end_of(const struct functions *functions, enum functions_extent extent)
{
	return extent == FUNCTIONS_ALL ? functions->count : extent == FUNCTIONS_SOURCES ? functions->sources : 0;
}

/* Before hooks are detached, with the lock. False: they are not, as there is another order by now. */
static bool linger(struct functions *functions, uint32_t order)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += LINGER_S;
	while (!functions->quit && functions->order == order)
		if (pthread_cond_timedwait(&functions->changed, &functions->lock, &until) == ETIMEDOUT)
			return true;
	return false;
}

static void *work(void *userdata)
{
	struct functions *functions = userdata;

	pthread_mutex_lock(&functions->lock);
	while (!functions->quit) {
		uint32_t order = functions->order;
		size_t end = end_of(functions, functions->extent);
		bool whole;

		if (functions->done == order) {
			pthread_cond_wait(&functions->changed, &functions->lock);
			continue;
		}
		whole = unlocked(functions, attach_until, order, end);
		if (whole && functions->extent != FUNCTIONS_ALL)
			whole = linger(functions, order) && unlocked(functions, detach_from, order, end);
		if (!whole)
			continue;
		functions->done = order;
		eventfd_write(functions->notice, 1);
	}
	pthread_mutex_unlock(&functions->lock);
	return NULL;
}

static bool is_attached(const struct function *function)
{
	bool all = true;

	for (enum side side = 0; side < SIDE_COUNT; side++)
		all &= function->programs[side] < 0 || function->links[side] >= 0;
	return all;
}

/* How many of the first are attached, if the thread has none in its hands. With the lock. */
static size_t attached_until(const struct functions *functions, size_t end)
{
	size_t i = 0;

	while (!functions->busy && i < end && is_attached(&functions->all[i]))
		i++;
	return i;
}

/* With the lock. */
static void order(struct functions *functions, enum functions_extent extent)
{
	functions->extent = extent;
	functions->reached = attached_until(functions, end_of(functions, extent));
	functions->order++;
	if (!functions->started)
		functions->started = thread_start(&functions->thread, work, functions) >= 0;
	pthread_cond_signal(&functions->changed);
}

void functions_want(struct functions *functions, enum functions_extent extent)
{
	pthread_mutex_lock(&functions->lock);
	order(functions, extent);
	pthread_mutex_unlock(&functions->lock);
}

enum functions_state functions_state(const struct functions *functions)
{
	bool all = functions->extent == FUNCTIONS_ALL;
	bool all_there = true;

	if (functions->refused)
		return FUNCTIONS_FAILED;
	if (functions->done != functions->order || (all && !functions->loaded))
		return FUNCTIONS_BUSY;
	if (!all || functions->reached < functions->count)
		return FUNCTIONS_DETACHED;
	for (size_t i = 0; i < functions->count; i++)
		all_there &= is_attached(&functions->all[i]);
	return all_there ? FUNCTIONS_ATTACHED : FUNCTIONS_FAILED;
}

enum functions_extent functions_wanted(const struct functions *functions)
{
	return functions->extent;
}

bool functions_have_inner(const struct functions *functions, enum functions_extent extent)
{
	return functions->extent >= extent &&
	       functions->reached >= (extent == FUNCTIONS_ALL ? functions->inner : functions->sources);
}

const struct bpf_program *functions_failed_inner(const struct functions *functions, size_t *at, int *error)
{
	for (; *at < functions->inner && *at < functions->reached; ++*at)
		if (functions->all[*at].error < 0) {
			*error = functions->all[*at].error;
			return functions->all[(*at)++].inner_program;
		}
	return NULL;
}

/* ---- life ---- */

bool functions_tells_sources(const struct bpf_program *program)
{
	return !strcmp(bpf_program__name(program), "datagram_received");
}

/* Programs on functions that calls go through. Those that the kernel has no function for were not loaded. */
static size_t count_inner(const struct probes *probes, const struct bpf_object *object)
{
	struct bpf_program *program;
	size_t count = 0;

	if (object)
		bpf_object__for_each_program(program, object)
			count += program_fd(probes, program) >= 0;
	return count;
}

static void add_inner(struct functions *functions, const struct probes *probes, const struct bpf_object *object, bool sources)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) {
		int fd = program_fd(probes, program);
		struct function *function = &functions->all[functions->inner];

		if (fd < 0 || functions_tells_sources(program) != sources)
			continue;
		function->programs[SIDE_EXIT] = fd;
		function->inner_program = program;
		functions->inner++;
	}
}

int functions_new(const struct probes *probes, struct bpf_object *inner, int notice, struct functions **ret)
{
	size_t most = call_count + count_inner(probes, inner);
	struct functions *functions = calloc(1, sizeof(*functions) + most * sizeof(functions->all[0]));
	pthread_condattr_t clock;

	if (!functions)
		return -ENOMEM;
	for (size_t i = 0; i < most; i++)
		functions->all[i] = (struct function){ .programs = { -1, -1 }, .links = { -1, -1 } };
	pthread_mutex_init(&functions->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&functions->changed, &clock);
	pthread_condattr_destroy(&clock);
	functions->notice = notice;
	if (inner) {
		add_inner(functions, probes, inner, true);
		functions->sources = functions->inner;
		add_inner(functions, probes, inner, false);
	}
	functions->count = functions->inner;
	*ret = functions;
	return 0;
}

void functions_publish(struct functions *functions)
{
	if (functions->copies) {
		functions->count = functions->inner + call_count;
		functions->loaded = true;
	}
	pthread_mutex_lock(&functions->lock);
	if (functions->adopted && functions->extent != FUNCTIONS_ALL)
		order(functions, functions->extent);
	pthread_mutex_unlock(&functions->lock);
}

/* ---- the end ---- */

/* The descriptors of all links, in ascending order, for the caller to free. */
static int *links_of(const struct functions *functions, size_t *count)
{
	int *links = calloc(functions->count * SIDE_COUNT + 1, sizeof(*links));

	*count = 0;
	for (size_t i = 0; links && i < functions->count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++)
			if (functions->all[i].links[side] >= 0)
				links[(*count)++] = functions->all[i].links[side];
	return links;
}

void functions_free(struct functions *functions)
{
	_cleanup_free_ int *links = NULL;
	size_t count;

	if (!functions)
		return;
	pthread_mutex_lock(&functions->lock);
	functions->quit = true;
	pthread_cond_signal(&functions->changed);
	pthread_mutex_unlock(&functions->lock);
	if (functions->started)
		pthread_join(functions->thread, NULL);
	links = links_of(functions, &count);
	if (links && count)
		leave_behind(links, count);
	for (size_t i = 0; i < functions->count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++) {
			closep(&functions->all[i].links[side]);
			if (i >= functions->inner)
				closep(&functions->all[i].programs[side]);
		}
	pthread_cond_destroy(&functions->changed);
	pthread_mutex_destroy(&functions->lock);
	free(functions);
}

size_t functions_attached(const struct functions *functions)
{
	size_t count = 0;

	for (size_t i = 0; i < functions->count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++)
			count += __atomic_load_n(&functions->all[i].links[side], __ATOMIC_RELAXED) >= 0;
	return count;
}

uint64_t functions_missed(const struct functions *functions)
{
	uint64_t missed = 0;

	for (size_t i = functions->inner; i < functions->count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++)
			missed += program_missed(functions->all[i].programs[side]);
	return missed;
}

void functions_runs(const struct functions *functions, struct probes_runs *runs)
{
	for (size_t i = functions->inner; i < functions->count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++)
			program_runs(functions->all[i].programs[side], runs);
}
