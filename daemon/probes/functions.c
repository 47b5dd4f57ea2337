// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/functions.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
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

/* In the order of attachment: an entry program without its exit program would leave a slot in use. */
enum side {
	SIDE_EXIT,
	SIDE_ENTER,
	SIDE_COUNT,
};

#define COPY_NAME 60 /* bytes of a copy's name */

struct function {
	int programs[SIDE_COUNT]; /* descriptors of them and of the links; -1: none */
	int links[SIDE_COUNT];
	const struct bpf_program *inode; /* the program of one that tells inodes; NULL: that of a system call */
	int error; /* negative errno, or 0: of the last attempt to attach it */
};

struct functions {
	pthread_t thread; /* owns the links */
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic uint32_t order;	 /* number of the last order, which is to attach or to detach */
	_Atomic uint32_t done;	 /* number of the last one that was carried out */
	_Atomic size_t reached;	 /* with the last order, if that is to attach: so many of `all` are done */
	_Atomic bool attach, quit, loaded, refused; /* refused: those of system calls could not be loaded */
	bool busy;    /* the thread attaches or detaches; with the lock */
	bool copies;  /* those of system calls are there, loaded or taken */
	bool adopted; /* hooks that an earlier daemon has attached */
	int notice; /* eventfd: an order was carried out, or the inodes' hooks are attached */
	size_t inodes; /* the first of `all`, whose programs are not owned; then those of system calls */
	_Atomic size_t count; /* of `all` */
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

static int copies_load(struct functions *functions, const struct kernel *kernel, struct bpf_object *object)
{
	_cleanup_(templates_done) struct templates templates = { 0 };
	int r = templates_init(&templates, kernel, object);

	if (r < 0)
		return r;
	for (size_t i = 0; i < call_count; i++)
		function_load(&functions->all[functions->inodes + i], kernel, &templates, &calls[i]);
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
			functions->all[functions->inodes + i].programs[side] = take(name, userdata);
		}
	functions->copies = true;
}

void functions_each(const struct functions *functions, void (*call)(const char *name, int program, void *userdata),
		    void *userdata)
{
	char name[COPY_NAME];

	for (size_t i = 0; functions->copies && i < call_count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++) {
			int program = functions->all[functions->inodes + i].programs[side];

			copy_name(name, i, side);
			if (program >= 0)
				call(name, program, userdata);
		}
}

/* ---- hooks of an earlier daemon ---- */

/* The number by which the kernel knows a program; 0: it does not say. */
static uint32_t program_number(int program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	return program < 0 || bpf_obj_get_info_by_fd(program, &info, &size) < 0 ? 0 : info.id;
}

/* The same of the program that a hook is of. */
static uint32_t hook_number(int hook)
{
	struct bpf_link_info info = { 0 };
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(hook, &info, &size) < 0 ? 0 : info.prog_id;
}

static bool adopt(int *link, int program, int *hooks, const uint32_t *numbers, size_t count)
{
	uint32_t number = program_number(program);

	for (size_t i = 0; i < count && number; i++)
		if (hooks[i] >= 0 && numbers[i] == number) {
			*link = take_fd(&hooks[i]);
			return true;
		}
	return false;
}

void functions_adopt(struct functions *functions, int *hooks, size_t *count)
{
	size_t first = functions->copies ? functions->inodes : 0, left = 0;
	size_t end = functions->inodes + (functions->copies ? call_count : 0);
	_cleanup_free_ uint32_t *numbers = calloc(*count + 1, sizeof(*numbers));

	if (!numbers)
		return;
	for (size_t i = 0; i < *count; i++)
		numbers[i] = hook_number(hooks[i]);
	for (size_t i = first; i < end && *count; i++)
		for (enum side side = 0; side < SIDE_COUNT; side++)
			functions->adopted |= adopt(&functions->all[i].links[side], functions->all[i].programs[side],
						    hooks, numbers, *count);
	for (size_t i = 0; i < *count; i++)
		if (hooks[i] >= 0)
			hooks[left++] = hooks[i];
	*count = left;
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
