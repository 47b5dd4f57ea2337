// SPDX-License-Identifier: GPL-2.0-or-later
/* The copies of pairs of programs, one pair for each system call: loaded, or taken from an earlier daemon. */
#include "probes/functions_private.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>

#include "cleanup.h"
#include "probes/calls.h"
#include "probes/clone.h"

#define COPY_NAME 60 /* bytes of a copy's name */

/*
 * Names of the templates by enum iotr_pair: the whole programs, and (`on`) those of which each call has copies. These are small
 * and tail call the whole ones, or are the same.
 */
static const struct {
	const char *names[SIDE_COUNT], *on[SIDE_COUNT];
} pairs[IOTR_PAIR_COUNT] = {
	[IOTR_PAIR_PLAIN] = { { "plain_exit", "plain_enter" }, { "plain_exit", "plain_enter" } },
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

	if (row->traits & IOTR_CALL_PLAIN)
		return IOTR_PAIR_PLAIN;
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
	/* For graces_now() in bpf/remembered.bpf.h. With bpf_rdonly_cast there is no need for it. */
	templates->on[IOTR_PAIR_PLAIN][SIDE_ENTER].variable = kernel->typed_reads ? 0 : kernel_variable(kernel, "rcu_data");
	return r;
}

/*
 * Loads the copies for one system call; without one of them the call makes no rows, which is logged. Kernels allow tail
 * calls only between programs on functions of the same prototype, so a system call without arguments, whose prototype
 * differs, gets copies of the whole programs.
 */
static void function_load(struct function *function, const struct kernel *kernel,
			  struct templates *templates, const struct call *call)
{
	enum iotr_pair pair = pair_of(&call->row);
	struct origin *origins;
	char name[64];
	int id = kernel_call(kernel, call->name, name, sizeof(name));

	if (id < 0 || call->native < 0)
		return; /* the kernel has no such call, or only for 32-bit programs */
	origins = kernel_prototype(kernel, id) == templates->prototype ? templates->on[pair] : templates->whole[pair];
	for (enum side side = 0; side < SIDE_COUNT; side++)
		function->programs[side] = origin_clone(&origins[side], attach_types[side], id, call->native, name);
}

static int copies_load(struct functions *functions, const struct kernel *kernel, struct bpf_object *object)
{
	_cleanup_(templates_done) struct templates templates = { 0 };
	int r = templates_init(&templates, kernel, object);

	if (r < 0)
		return r;
	for (size_t i = 0; i < call_count; i++)
		function_load(&functions->all[functions->inner + i], kernel, &templates, &calls[i]);
	return 0;
}

int functions_load(struct functions *functions, const struct kernel *kernel, struct bpf_object *object)
{
	int r = object ? copies_load(functions, kernel, object) : -EOPNOTSUPP;

	functions->copies = r >= 0;
	functions->refused = r < 0;
	return r;
}

static void copy_name(char name[COPY_NAME], size_t call, enum side side)
{
	snprintf(name, COPY_NAME, "%s/%d", calls[call].name, side);
}

void functions_take(struct functions *functions, int (*take)(const char *name, void *userdata), void *userdata)
{
	char name[COPY_NAME];

	for (size_t i = 0; i < call_count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++) {
			copy_name(name, i, side);
			functions->all[functions->inner + i].programs[side] = take(name, userdata);
		}
	functions->copies = true;
}

void functions_each(const struct functions *functions, void (*call)(const char *name, int program, void *userdata),
		    void *userdata)
{
	char name[COPY_NAME];

	for (size_t i = 0; functions->copies && i < call_count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++) {
			int program = functions->all[functions->inner + i].programs[side];

			copy_name(name, i, side);
			if (program >= 0)
				call(name, program, userdata);
		}
}
