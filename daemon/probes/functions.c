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

/* In the order of attachment: an entry program without its exit program would leave a slot in use. */
enum side {
	SIDE_EXIT,
	SIDE_ENTER,
	SIDE_COUNT,
};

/* Descriptors of the programs and links of one function; -1: none. */
struct function {
	int programs[SIDE_COUNT];
	int links[SIDE_COUNT];
};

struct functions {
	pthread_t thread; /* valid while `detaching`: it owns the links */
	bool detaching;
	size_t count;
	struct function all[];
};

/* Names of the templates by enum iotr_pair: the whole programs, and (`on`) the small ones that tail call them. */
static const struct {
	const char *names[SIDE_COUNT], *on[SIDE_COUNT];
} pairs[IOTR_PAIR_COUNT] = {
	[IOTR_PAIR_FILE] = { { "file_exit", "file_enter" }, { "file_exit_on", "file_enter_on" } },
	[IOTR_PAIR_RESULT] = { { "result_exit", "result_enter" }, { "result_exit_on", "result_enter_on" } },
	[IOTR_PAIR_BOTH] = { { "both_exit", "both_enter" }, { "both_exit_on", "both_enter_on" } },
	[IOTR_PAIR_AIO] = { { "aio_exit", "aio_enter" }, { "aio_exit_on", "aio_enter_on" } },
};

static const enum bpf_attach_type attach_types[SIDE_COUNT] = {
	[SIDE_EXIT] = BPF_TRACE_FEXIT,
	[SIDE_ENTER] = BPF_TRACE_FENTRY,
};

struct templates {
	struct origin whole[IOTR_PAIR_COUNT][SIDE_COUNT];
	struct origin on[IOTR_PAIR_COUNT][SIDE_COUNT];
	int prototype; /* BTF id of the prototype that functions must have for copies of `on` */
};

static enum iotr_pair pair_of(const struct iotr_call *row)
{
	const uint32_t results = IOTR_CALL_STAT | IOTR_CALL_STATX;

	if (row->traits & (IOTR_CALL_SUBMITS | IOTR_CALL_REAPS))
		return IOTR_PAIR_AIO;
	if (!row->fd)
		return IOTR_PAIR_RESULT;
	return row->traits & results ? IOTR_PAIR_BOTH : IOTR_PAIR_FILE;
}

static void templates_done(struct templates *templates)
{
	for (size_t i = 0; i < IOTR_PAIR_COUNT; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++) {
			origin_done(&templates->whole[i][side]);
			origin_done(&templates->on[i][side]);
		}
}

/* Puts a whole program into the map from which its small ones tail call it. */
static int pair_publish(struct bpf_object *object, enum iotr_pair pair, enum side side)
{
	static const char *const maps[SIDE_COUNT] = { "pair_exits", "pair_enters" };
	int map = bpf_object__find_map_fd_by_name(object, maps[side]);
	int program = bpf_program__fd(bpf_object__find_program_by_name(object, pairs[pair].names[side]));
	uint32_t key = pair;

	return bpf_map_update_elem(map, &key, &program, BPF_ANY) < 0 ? -errno : 0;
}

static int templates_init(struct templates *templates, const struct kernel *kernel, struct bpf_object *object)
{
	int r = 0;

	for (size_t i = 0; i < IOTR_PAIR_COUNT; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++)
			templates->whole[i][side].btf_fd = templates->on[i][side].btf_fd = -1;
	templates->prototype = kernel_prototype(kernel, kernel_function(kernel, "__x64_sys_read"));
	for (size_t i = 0; i < IOTR_PAIR_COUNT && r >= 0; i++)
		for (enum side side = 0; side < SIDE_COUNT && r >= 0; side++) {
			r = origin_init(&templates->whole[i][side],
					bpf_object__find_program_by_name(object, pairs[i].names[side]));
			if (r >= 0)
				r = origin_init(&templates->on[i][side],
						bpf_object__find_program_by_name(object, pairs[i].on[side]));
			if (r >= 0 && pair_publish(object, i, side) < 0)
				templates->prototype = -1; /* matches none: whole copies need no tail calls */
		}
	return r;
}

/*
 * Loads the copies for one system call; without one of them the call makes no rows, which is logged. Kernels allow tail
 * calls only between programs on functions of the same prototype, so a system call without arguments, whose prototype
 * differs, gets copies of the whole programs.
 */
static void function_load(struct function *function, const struct kernel *kernel,
			  const struct templates *templates, const struct call *call)
{
	enum iotr_pair pair = pair_of(&call->row);
	const struct origin *origins;
	char name[64];
	int id = kernel_call(kernel, call->name, name, sizeof(name));

	if (id < 0 || call->native < 0)
		return; /* the kernel has no such call, or only for 32-bit programs */
	origins = kernel_prototype(kernel, id) == templates->prototype ? templates->on[pair] : templates->whole[pair];
	for (enum side side = 0; side < SIDE_COUNT; side++)
		function->programs[side] = origin_clone(&origins[side], attach_types[side], id, name);
}

int functions_new(const struct kernel *kernel, struct bpf_object *object, struct functions **ret)
{
	_cleanup_(templates_done) struct templates templates = { 0 };
	struct functions *functions;
	int r = templates_init(&templates, kernel, object);

	if (r < 0)
		return r;
	functions = calloc(1, sizeof(*functions) + call_count * sizeof(functions->all[0]));
	if (!functions)
		return -ENOMEM;
	functions->count = call_count;
	for (size_t i = 0; i < call_count; i++) {
		memset(&functions->all[i], -1, sizeof(functions->all[i]));
		function_load(&functions->all[i], kernel, &templates, &calls[i]);
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

/* Waits for the thread that detaches, if there is one. */
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

int functions_attach(struct functions *functions, functions_failed failed, void *userdata)
{
	int first = 0, r;

	detach_finish(functions);
	for (size_t i = 0; i < functions->count; i++) {
		struct function *function = &functions->all[i];

		r = 0;
		for (enum side side = 0; side < SIDE_COUNT && r >= 0; side++)
			r = attach(function->programs[side], &function->links[side]);
		if (r < 0)
			failed(&calls[i], r, userdata);
		first = first ?: r;
	}
	return functions_attached(functions) ? 0 : first;
}

/* Detaches in a thread, as the kernel waits for an RCU grace period at every hook, seconds in all. */
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
