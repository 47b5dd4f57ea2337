// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/functions.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "probes/calls.h"
#include "probes/clone.h"

/* In the order in which they are attached: an entry without its exit would leave a slot behind. */
enum side {
	SIDE_EXIT,
	SIDE_ENTER,
	SIDE_COUNT,
};

/* Programs and links of one function; -1 when there is none. */
struct function {
	int programs[SIDE_COUNT];
	int links[SIDE_COUNT];
};

struct functions {
	pthread_t thread; /* while detaching: the links belong to it */
	bool detaching;
	size_t count;
	struct function all[];
};

/* The pairs of programs, by what a call needs of them. */
enum pair {
	PAIR_FILE,
	PAIR_RESULT,
	PAIR_BOTH,
	PAIR_AIO,
	PAIR_COUNT,
};

static const struct {
	const char *enter, *exit;
} pairs[PAIR_COUNT] = {
	[PAIR_FILE] = { "file_enter", "file_exit" },
	[PAIR_RESULT] = { "result_enter", "result_exit" },
	[PAIR_BOTH] = { "both_enter", "both_exit" },
	[PAIR_AIO] = { "aio_enter", "aio_exit" },
};

struct origins {
	struct origin enter[PAIR_COUNT], exit[PAIR_COUNT];
};

static enum pair pair_of(const struct iotr_call *row)
{
	const uint32_t results = IOTR_CALL_STAT | IOTR_CALL_STATX | IOTR_CALL_MAPS;

	if (row->traits & (IOTR_CALL_SUBMITS | IOTR_CALL_REAPS))
		return PAIR_AIO;
	if (!row->fd)
		return PAIR_RESULT;
	return row->traits & results ? PAIR_BOTH : PAIR_FILE;
}

static void origins_done(struct origins *origins)
{
	for (size_t i = 0; i < PAIR_COUNT; i++) {
		origin_done(&origins->enter[i]);
		origin_done(&origins->exit[i]);
	}
}

static int origins_init(struct origins *origins, struct bpf_object *object)
{
	int r = 0;

	for (size_t i = 0; i < PAIR_COUNT; i++)
		origins->enter[i].btf_fd = origins->exit[i].btf_fd = -1;
	for (size_t i = 0; i < PAIR_COUNT && r >= 0; i++) {
		r = origin_init(&origins->enter[i],
				bpf_object__find_program_by_name(object, pairs[i].enter));
		if (r >= 0)
			r = origin_init(&origins->exit[i],
					bpf_object__find_program_by_name(object, pairs[i].exit));
	}
	return r;
}

/* A hook that does not load takes away its call, with a line in the log. */
static void function_load(struct function *function, const struct kernel *kernel,
			  const struct origins *origins, const struct call *call)
{
	enum pair pair = pair_of(&call->row);
	char name[64];
	int id = kernel_call(kernel, call->name, name, sizeof(name));

	if (id < 0)
		return; /* the kernel has no such call */
	function->programs[SIDE_EXIT] = origin_clone(&origins->exit[pair], BPF_TRACE_FEXIT, id, name);
	function->programs[SIDE_ENTER] = origin_clone(&origins->enter[pair], BPF_TRACE_FENTRY, id, name);
}

int functions_new(const struct kernel *kernel, struct bpf_object *object, struct functions **ret)
{
	_cleanup_(origins_done) struct origins origins = { 0 };
	struct functions *functions;
	int r = origins_init(&origins, object);

	if (r < 0)
		return r;
	functions = calloc(1, sizeof(*functions) + call_count * sizeof(functions->all[0]));
	if (!functions)
		return -ENOMEM;
	functions->count = call_count;
	for (size_t i = 0; i < call_count; i++) {
		memset(&functions->all[i], -1, sizeof(functions->all[i]));
		function_load(&functions->all[i], kernel, &origins, &calls[i]);
	}
	*ret = functions;
	return 0;
}

static void detach(int *link)
{
	closep(link);
	*link = -1;
}

static void *detach_thread(void *userdata)
{
	struct functions *functions = userdata;

	for (size_t i = 0; i < functions->count; i++)
		for (enum side side = SIDE_COUNT; side-- > 0;)
			detach(&functions->all[i].links[side]);
	return NULL;
}

/* Waits for a detaching under way. */
static void detach_finish(struct functions *functions)
{
	if (functions->detaching)
		pthread_join(functions->thread, NULL);
	functions->detaching = false;
}

void functions_free(struct functions *functions)
{
	if (!functions)
		return;
	functions_detach(functions);
	detach_finish(functions);
	for (size_t i = 0; i < functions->count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++)
			closep(&functions->all[i].programs[side]);
	free(functions);
}

static int attach(int program, int *link)
{
	if (program < 0 || *link >= 0)
		return 0;
	*link = bpf_raw_tracepoint_open(NULL, program);
	return *link < 0 ? -errno : 0;
}

int functions_attach(struct functions *functions)
{
	int failed = 0, r;

	detach_finish(functions);
	for (size_t i = 0; i < functions->count; i++) {
		struct function *function = &functions->all[i];

		r = 0;
		for (enum side side = 0; side < SIDE_COUNT && r >= 0; side++)
			r = attach(function->programs[side], &function->links[side]);
		if (r < 0)
			log_warning("cannot attach to __x64_sys_%s: %s", calls[i].name, strerror(-r));
		failed = failed ?: r;
	}
	return functions_attached(functions) ? 0 : failed;
}

/* In a thread: the kernel waits for its own readers at every hook, seconds in all. */
void functions_detach(struct functions *functions)
{
	detach_finish(functions);
	if (!functions_attached(functions))
		return;
	functions->detaching = !pthread_create(&functions->thread, NULL, detach_thread, functions);
	if (!functions->detaching)
		detach_thread(functions);
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
	for (size_t i = 0; i < functions->count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++)
			program_runs(functions->all[i].programs[side], runs);
}
