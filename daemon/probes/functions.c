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

enum {
	SUBPROGRAMS_MAX = 32,
	VERIFIER_LOG_BYTES = 1 << 20,
};

/* Programs and links of one function; -1 when there is none. */
struct function {
	int enter, exit;
	int enter_link, exit_link;
};

struct functions {
	pthread_t thread; /* while detaching: the links belong to it */
	bool detaching;
	size_t count;
	struct function all[];
};

/* The function information of a loaded program: what the verifier needs to know its subprograms. */
struct origin {
	const struct bpf_insn *insns;
	size_t insn_count;
	struct bpf_func_info *infos;
	uint32_t info_count;
	int btf_fd;
};

static void origin_done(struct origin *origin)
{
	free(origin->infos);
	closep(&origin->btf_fd);
}

/* Where the subprograms begin: the targets of calls, in ascending order, after the program itself. */
static size_t subprograms_find(const struct origin *origin, uint32_t *starts, size_t max)
{
	size_t count = 1;

	starts[0] = 0;
	for (size_t i = 0; i < origin->insn_count; i++) {
		const struct bpf_insn *insn = &origin->insns[i];
		uint32_t target = i + insn->imm + 1;
		size_t at = 0;

		if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg != BPF_PSEUDO_CALL)
			continue;
		while (at < count && starts[at] < target)
			at++;
		if ((at < count && starts[at] == target) || count == max)
			continue;
		memmove(starts + at + 1, starts + at, (count++ - at) * sizeof(*starts));
		starts[at] = target;
	}
	return count;
}

/*
 * The kernel tells which functions a loaded program consists of, but counts their instructions as
 * it rewrote them; the positions before that are found in the program.
 */
static int origin_init(struct origin *origin, struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info), starts[SUBPROGRAMS_MAX];

	*origin = (struct origin){ .insns = bpf_program__insns(program),
				   .insn_count = bpf_program__insn_cnt(program),
				   .btf_fd = -1 };
	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) < 0)
		return -errno;
	origin->info_count = info.nr_func_info;
	if (subprograms_find(origin, starts, SUBPROGRAMS_MAX) != origin->info_count)
		return -EINVAL;
	origin->infos = calloc(info.nr_func_info, sizeof(*origin->infos));
	if (!origin->infos)
		return -ENOMEM;
	origin->btf_fd = bpf_btf_get_fd_by_id(info.btf_id);
	memset(&info, 0, sizeof(info));
	info.nr_func_info = origin->info_count;
	info.func_info_rec_size = sizeof(*origin->infos);
	info.func_info = (uintptr_t)origin->infos;
	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) < 0)
		return -errno;
	for (size_t i = 0; i < origin->info_count; i++)
		origin->infos[i].insn_off = starts[i];
	return 0;
}

static int clone_program(const struct origin *origin, enum bpf_attach_type type, int function,
			 char *log, size_t log_size)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = type,
		    .attach_btf_id = function, .prog_btf_fd = origin->btf_fd,
		    .func_info = origin->infos, .func_info_cnt = origin->info_count,
		    .func_info_rec_size = sizeof(*origin->infos), .log_buf = log,
		    .log_size = log_size, .log_level = log ? 1 : 0);

	return bpf_prog_load(BPF_PROG_TYPE_TRACING, "iotr_call", "GPL", origin->insns,
			     origin->insn_count, &options);
}

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

/* Loads a copy; a second try has the verifier say why the first was refused. */
static int function_clone(const struct origin *origin, enum bpf_attach_type type, int function,
			  const char *name)
{
	_cleanup_free_ char *log = NULL;
	int fd = clone_program(origin, type, function, NULL, 0);

	if (fd >= 0)
		return fd;
	log_warning("cannot load a hook on %s: %s", name, strerror(errno));
	log = calloc(1, VERIFIER_LOG_BYTES);
	fd = log ? clone_program(origin, type, function, log, VERIFIER_LOG_BYTES) : -1;
	if (log)
		log_debug("the verifier says: %s", log);
	return fd;
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
	function->enter = function_clone(&origins->enter[pair], BPF_TRACE_FENTRY, id, name);
	function->exit = function_clone(&origins->exit[pair], BPF_TRACE_FEXIT, id, name);
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
		functions->all[i] = (struct function){ -1, -1, -1, -1 };
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

	for (size_t i = 0; i < functions->count; i++) {
		detach(&functions->all[i].enter_link);
		detach(&functions->all[i].exit_link);
	}
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
	for (size_t i = 0; i < functions->count; i++) {
		closep(&functions->all[i].enter);
		closep(&functions->all[i].exit);
	}
	free(functions);
}

static int attach(int program, int *link)
{
	if (program < 0 || *link >= 0)
		return 0;
	*link = bpf_raw_tracepoint_open(NULL, program);
	return *link < 0 ? -errno : 0;
}

/* The exit first: an entry without its exit would leave a slot behind. */
int functions_attach(struct functions *functions)
{
	int failed = 0, r;

	detach_finish(functions);
	for (size_t i = 0; i < functions->count; i++) {
		struct function *function = &functions->all[i];

		r = attach(function->exit, &function->exit_link);
		if (r >= 0)
			r = attach(function->enter, &function->enter_link);
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

	for (size_t i = 0; i < functions->count; i++) {
		count += __atomic_load_n(&functions->all[i].enter_link, __ATOMIC_RELAXED) >= 0;
		count += __atomic_load_n(&functions->all[i].exit_link, __ATOMIC_RELAXED) >= 0;
	}
	return count;
}
