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

/* Detaching, those of inodes are the last, so that they are still there for a session that soon follows. */
static void function_hook(struct functions *functions, size_t i, bool attached)
{
	struct function *function = &functions->all[i];
	int r = 0;

	if (attached)
		for (enum side side = 0; side < SIDE_COUNT && r >= 0; side++)
			r = attach(function->programs[side], &function->links[side]);
	else
		for (enum side side = SIDE_COUNT; side-- > 0;)
			detach(&function->links[side]);
	function->error = r;
	if (r < 0 && !function->inode)
		log_message(ABOUT(HOOK_MISSING, .hook = calls[i - functions->inodes].name, .error = -r),
			    "cannot attach a hook on the function of %s: %s", calls[i - functions->inodes].name,
			    strerror(-r));
}

static void reach(struct functions *functions, uint32_t order, size_t reached)
{
	pthread_mutex_lock(&functions->lock);
	if (functions->order == order && functions->reached < reached)
		functions->reached = reached;
	pthread_mutex_unlock(&functions->lock);
	if (reached == functions->inodes)
		eventfd_write(functions->notice, 1);
}

/* Carries out an order. False: there is another one by now. */
static bool carry_out(struct functions *functions, uint32_t order, bool attached)
{
	size_t count = functions->count;

	setpriority(PRIO_PROCESS, 0, attached ? 0 : NICE); /* on Linux this affects the calling thread alone */
	for (size_t i = 0; i < count; i++) {
		if (atomic_load(&functions->quit) || atomic_load(&functions->order) != order)
			return false;
		function_hook(functions, attached ? i : count - 1 - i, attached);
		if (attached)
			reach(functions, order, i + 1);
	}
	return true;
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
		bool attached = functions->attach, whole;

		if (functions->done == order) {
			pthread_cond_wait(&functions->changed, &functions->lock);
			continue;
		}
		if (!attached && !linger(functions, order))
			continue;
		functions->busy = true;
		pthread_mutex_unlock(&functions->lock);
		whole = carry_out(functions, order, attached);
		pthread_mutex_lock(&functions->lock);
		functions->busy = false;
		if (!whole)
			continue;
		functions->done = order;
		eventfd_write(functions->notice, 1);
	}
	pthread_mutex_unlock(&functions->lock);
	return NULL;
}

/* Whether those of inodes are attached, and the thread has none of them in its hands. With the lock. */
static bool inodes_attached(const struct functions *functions)
{
	bool all = !functions->busy;

	for (size_t i = 0; i < functions->inodes; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++)
			all &= functions->all[i].programs[side] < 0 || functions->all[i].links[side] >= 0;
	return all;
}

/* With the lock. */
static void order(struct functions *functions, bool attached)
{
	functions->attach = attached;
	functions->reached = attached && inodes_attached(functions) ? functions->inodes : 0;
	functions->order++;
	if (!functions->started)
		functions->started = thread_start(&functions->thread, work, functions) >= 0;
	pthread_cond_signal(&functions->changed);
}

void functions_attach(struct functions *functions)
{
	pthread_mutex_lock(&functions->lock);
	order(functions, true);
	pthread_mutex_unlock(&functions->lock);
}

void functions_detach(struct functions *functions)
{
	pthread_mutex_lock(&functions->lock);
	if (functions->attach)
		order(functions, false);
	pthread_mutex_unlock(&functions->lock);
}

enum functions_state functions_state(const struct functions *functions)
{
	bool all = true;

	if (functions->refused)
		return FUNCTIONS_FAILED;
	if (functions->done != functions->order || (functions->attach && !functions->loaded))
		return FUNCTIONS_BUSY;
	if (!functions->attach || functions->reached < functions->count)
		return FUNCTIONS_DETACHED;
	for (size_t i = 0; i < functions->count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++)
			all &= functions->all[i].programs[side] < 0 || functions->all[i].links[side] >= 0;
	return all ? FUNCTIONS_ATTACHED : FUNCTIONS_FAILED;
}

bool functions_wanted(const struct functions *functions)
{
	return functions->attach;
}

bool functions_have_inodes(const struct functions *functions)
{
	return functions->attach && (functions->reached >= functions->inodes);
}

const struct bpf_program *functions_failed_inode(const struct functions *functions, size_t *at, int *error)
{
	for (; *at < functions->inodes; ++*at)
		if (functions->all[*at].error < 0) {
			*error = functions->all[*at].error;
			return functions->all[(*at)++].inode;
		}
	return NULL;
}

/* ---- life ---- */

/* Programs that find the inodes of calls with paths. Those that the kernel has no function for were not loaded. */
static size_t inodes_count(const struct probes *probes, const struct bpf_object *object)
{
	struct bpf_program *program;
	size_t count = 0;

	if (object)
		bpf_object__for_each_program(program, object)
			count += program_fd(probes, program) >= 0;
	return count;
}

int functions_new(const struct probes *probes, struct bpf_object *inodes, int notice, struct functions **ret)
{
	size_t most = call_count + inodes_count(probes, inodes);
	struct functions *functions = calloc(1, sizeof(*functions) + most * sizeof(functions->all[0]));
	struct bpf_program *program;
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
	if (inodes)
		bpf_object__for_each_program(program, inodes)
			if (program_fd(probes, program) >= 0) {
				struct function *function = &functions->all[functions->inodes++];

				function->programs[SIDE_EXIT] = program_fd(probes, program);
				function->inode = program;
			}
	functions->count = functions->inodes;
	*ret = functions;
	return 0;
}

void functions_publish(struct functions *functions)
{
	if (functions->copies) {
		functions->count = functions->inodes + call_count;
		functions->loaded = true;
	}
	pthread_mutex_lock(&functions->lock);
	if (functions->adopted && !functions->attach)
		order(functions, false);
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
			if (i >= functions->inodes)
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

	for (size_t i = 0; i < functions->count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++)
			missed += program_missed(functions->all[i].programs[side]);
	return missed;
}

void functions_runs(const struct functions *functions, struct probes_runs *runs)
{
	for (size_t i = functions->inodes; i < functions->count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++)
			program_runs(functions->all[i].programs[side], runs);
}
