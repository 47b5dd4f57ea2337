// SPDX-License-Identifier: GPL-2.0-or-later
/* The BPF objects: which of their programs are loaded, which maps they share, which programs are tail called. */
#include "probes/probes_private.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "cleanup.h"
#include "log.h"
#include "probes/bio_ends.h"
#include "probes/dirtied.h"
#include "probes/functions.h"
#include "probes/inherit.h"
#include "probes/program.h"
#include "probes/loading.h"
#include "probes/map_name.h"
#include "probes/rodata.h"
#include "probes/shared_map.h"

#define NAMES_BYTES    (16U << 20)
#define CPU_NUMBER_MAX 8191 /* the largest that x86 kernels are built for */
#define MEMORY_TRIES   3

#define OBJECT_BYTES(name) extern const unsigned char iotr_bpf_##name##_begin[], iotr_bpf_##name##_end[];
#define STREAM_BYTES(id, name, folder, object, ...) OBJECT_BYTES(object)
#define FURTHER_BYTES(id, object, stream) OBJECT_BYTES(object)
OBJECT_BYTES(shared)
OBJECT_BYTES(process)
IOTR_STREAMS(STREAM_BYTES)
IOTR_FURTHER_OBJECTS(FURTHER_BYTES)

static const struct {
	const char *name;
	const unsigned char *begin, *end;
} objects[OBJECT_COUNT] = {
#define OBJECT_ROW(id, object) [OBJECT_##id] = { #object, iotr_bpf_##object##_begin, iotr_bpf_##object##_end },
#define STREAM_ROW(id, name, folder, object, ...) OBJECT_ROW(id, object)
#define FURTHER_ROW(id, object, stream) OBJECT_ROW(id, object)
	OBJECT_ROW(SHARED, shared)
	OBJECT_ROW(PROCESS, process)
	OBJECT_ROW(FUNCTIONS, syscalls)
	IOTR_STREAMS(STREAM_ROW)
	IOTR_FURTHER_OBJECTS(FURTHER_ROW)
};

uint64_t objects_hash(void)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < OBJECT_COUNT; i++)
		hash = XXH3_64bits_withSeed(objects[i].begin, (size_t)(objects[i].end - objects[i].begin), hash);
	return hash;
}

static const enum object group_object[PROBES_GROUP_COUNT] = {
#define GROUP_OBJECT(id, ...) [PROBES_##id] = OBJECT_##id,
	[PROBES_CALLS] = OBJECT_VFS,
	[PROBES_ENTERS] = OBJECT_VFS,
	[PROBES_EXITS] = OBJECT_VFS,
	[PROBES_CACHE_EXIT] = OBJECT_CACHE,
	[PROBES_REQUESTS] = OBJECT_BLOCK,
	[PROBES_PROCESS] = OBJECT_PROCESS,
	IOTR_STREAMS(GROUP_OBJECT)
	IOTR_FURTHER_OBJECTS(GROUP_OBJECT)
};

/* Streams whose programs are tail called by those on system calls: see bpf/plug.bpf.h. */
static const struct {
	enum object object;
	enum iotr_stream stream;
} plugged[] = {
#define NO_CALLS(id)
#define CALLS(id)
#define PLUGGED(id)  { OBJECT_##id, IOTR_##id },
#define OWN_EXIT(id) PLUGGED(id)
#define PLUGGED_ROW(id, name, folder, object, calls, ...) calls(id)
	IOTR_STREAMS(PLUGGED_ROW)
};

/* ---- programs and maps of an object, before it is loaded ---- */

/*
 * Names of programs whose arguments differ between kernels end in __N, the number of arguments of the
 * hook that they are for. Programs without such a suffix fit every kernel that has the hook. Those on
 * perf events, which every kernel has, end in __1 if they need bpf_find_vma, otherwise in __0.
 */
static bool program_fits(const struct kernel *kernel, const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);
	const char *suffix = strstr(bpf_program__name(program), "__");
	int arity;

	if (!strncmp(section, "tp/", 3) || on_module(program))
		return true;
	if (!strcmp(section, "perf_event"))
		arity = kernel_function(kernel, "bpf_find_vma") > 0;
	else if (strncmp(section, "tp_btf/", 7))
		arity = kernel_function_arity(kernel, strchr(section, '/') + 1);
	else
		arity = kernel_tracepoint_arity(kernel, section + 7);
	return arity >= 0 && (!suffix || arity == atoi(suffix + 2));
}

#define STAND_IN "stand_in_" /* programs that stand in for those on functions begin so */

/* Whether a section is sys_enter or sys_exit of all system calls, not the function of one. */
static bool on_system_calls(const char *section)
{
	const char *hook = strrchr(section, '/');

	return hook && (!strcmp(hook, "/sys_enter") || !strcmp(hook, "/sys_exit"));
}

/* Whether a section is that of a program on a function. */
static bool on_function(const char *section)
{
	return !strncmp(section, "fentry/", 7) || !strncmp(section, "fexit/", 6);
}

/*
 * Whether a program is that of NET for calls that begin, at function level: the one on all system calls has it in it there (see
 * bpf/net.bpf.c), so that nothing goes on to it. To its program for calls that end CACHE's goes on.
 */
static bool within_another(const struct probes *probes, enum object which, const char *name)
{
	return which == OBJECT_NET && probes->level == PROBES_FUNCTION && !strcmp(name, "net_enter");
}

/* OBJECT_FUNCTIONS is that of VFS once more, for its programs on functions, which are needed last. */
static bool program_wanted(const struct probes *probes, enum object which, const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);
	bool function = on_function(section);
	const char *name = bpf_program__name(program);

	if (which == OBJECT_FUNCTIONS ? !function : which == OBJECT_VFS && function)
		return false;
	if (function && probes->level != PROBES_FUNCTION)
		return false;
	if (on_system_calls(section) && !strncmp(section, "tp/", 3) != probes->kernel.preempts)
		return false;
	if (!strncmp(name, probes->level == PROBES_FUNCTION ? "sys_" : "plug", 4))
		return false;
	if (!strncmp(name, STAND_IN, strlen(STAND_IN)) && probes->level != PROBES_FUNCTION)
		return false;
	if (within_another(probes, which, name))
		return false;
	return program_fits(&probes->kernel, program);
}

struct bpf_map *map_owner(const struct probes *probes, const char *name, const struct bpf_object **owner)
{
	struct bpf_map *map = NULL;

	for (size_t i = 0; i < OBJECT_COUNT && !map; i++) {
		*owner = probes->objects[i];
		if (*owner)
			map = bpf_object__find_map_by_name(*owner, name);
	}
	return map;
}

struct bpf_map *map_find(const struct probes *probes, const char *name)
{
	const struct bpf_object *owner;

	return map_owner(probes, name, &owner);
}

int probes_map(const struct probes *probes, const char *name)
{
	return bpf_object__find_map_fd_by_name(probes->objects[OBJECT_SHARED], name);
}

/* Maps that no loaded object has may be inherited by those that the thread of loading.c loads. */
static int maps_share(const struct probes *probes, struct bpf_object *object, bool inherits)
{
	struct bpf_map *map, *from;
	int r = 0;

	bpf_object__for_each_map(map, object) {
		const char *name = map_shared_name(map);
		int fd;

		if (!name)
			continue;
		if (!strcmp(name, SHARED_MAP) && !shared_map_fits(object))
			return -EINVAL;
		from = map_find(probes, name);
		fd = !strcmp(name, "row_ring") ? probes->rings[0] :
		     from		       ? bpf_map__fd(from) :
		     inherits		       ? inherit_map(probes, name) :
						 -1;
		if (fd >= 0)
			r = bpf_map__reuse_fd(map, fd);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Of the object whose maps the others share, where they were not inherited. */
static int shared_maps(struct bpf_object *object)
{
	struct bpf_map *names = bpf_object__find_map_by_name(object, "names");
	struct bpf_map *variables = bpf_object__find_map_by_name(object, SHARED_MAP);
	int r = 0;

	if (!names || !variables)
		return -EINVAL;
	if (bpf_map__fd(names) < 0)
		r = bpf_map__set_max_entries(names, NAMES_BYTES);
	if (r >= 0 && bpf_map__fd(variables) < 0)
		r = shared_map_create(variables);
	return r;
}

/* To find out for which hooks the kernel has what a program needs takes a walk over all of its types for each. */
static void programs_choose(const struct probes *probes, enum object which, struct bpf_object *object)
{
	bool chosen = which < OBJECT_COUNT && inherit_any(probes, which);
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, chosen ? inherit_has(probes, which, program) :
							    program_wanted(probes, which, program));
}

/* Bits of the largest number that a CPU of the machine can have: the last one of a list of ranges, which may have gaps. */
static uint32_t cpu_bits(void)
{
	_cleanup_fclose_ FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
	unsigned long largest = CPU_NUMBER_MAX;
	char text[4096], *last = text;

	if (file && fgets(text, sizeof(text), file)) {
		for (char *at = text; (at = strpbrk(at, "-,")); at++)
			last = at + 1;
		largest = strtoul(last, NULL, 10);
	}
	return largest ? 64 - (uint32_t)__builtin_clzl(largest) : 0;
}

static int constants_set(const struct probes *probes, struct bpf_object *object)
{
	struct rodata constants = {
		.typed_reads = probes->kernel.typed_reads,
		.ring_shift = probes->ring_count > 1 ? __builtin_ctz(CPUS_PER_RING) : IOTR_RING_ALONE,
		.preempted = probes->kernel.preempts,
		.may_hold = kernel_function(&probes->kernel, "bpf_preempt_disable") > 0,
		.flow_cpu_bits = cpu_bits(),
	};

	if (getrandom(constants.text_key, sizeof(constants.text_key), 0) < 0)
		return -errno;
	return rodata_set(object, &constants);
}

int object_prepare(const struct probes *probes, struct bpf_object *object)
{
	int r = constants_set(probes, object);

	programs_choose(probes, OBJECT_COUNT, object);
	return r < 0 ? r : maps_share(probes, object, false);
}

/* An object that was inherited is never loaded: its programs and maps are there. */
static int object_obtain(struct probes *probes, enum object which, struct bpf_object *object)
{
	bool fits = inherit_fits(probes, object);
	int r;

	if (!fits)
		log_warning("object %s is loaded anew: what was inherited under the names of its maps are no such maps",
			    objects[which].name);
	if (!fits && which == OBJECT_SHARED)
		inherit_end(probes); /* of the others nothing is of use then */
	r = maps_share(probes, object, fits);
	if (r >= 0 && fits && inherit_object(probes, which, object) >= 0)
		return 0;
	if (r >= 0 && which == OBJECT_SHARED)
		r = shared_maps(object);
	return r < 0 ? r : bpf_object__load(object);
}

static int object_load(struct probes *probes, enum object which, struct bpf_object **ret)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = objects[which].name);
	struct bpf_object *object;
	int r;

	object = bpf_object__open_mem(objects[which].begin,
				      objects[which].end - objects[which].begin, &options);
	if (!object)
		return -errno;
	programs_choose(probes, which, object);
	r = constants_set(probes, object);
	if (r >= 0)
		r = object_obtain(probes, which, object);
	if (r < 0) {
		bpf_object__close(object);
		return r;
	}
	*ret = object;
	return 0;
}

/* ---- programs that others tail call ---- */

/* Whether a program is on all system calls to go on to those of streams: its name begins so. Only one is attached at either end. */
static bool goes_on(const struct bpf_program *program)
{
	const char *name = bpf_program__name(program);

	return !strncmp(name, "sys_", 4) || !strncmp(name, "plug_", 5);
}

static bool stands_in(const struct bpf_program *program)
{
	return !strncmp(bpf_program__name(program), STAND_IN, strlen(STAND_IN));
}

/* Whether a program is on the delivery of signals, which may end a call of either level. */
static bool on_signals(const struct bpf_program *program)
{
	return !strcmp(bpf_program__section_name(program), "tp_btf/signal_deliver");
}

/* The map for programs that see to writeback on a hook of block requests, by which BLOCK's program there goes on; NULL: no such hook. */
static const char *request_map(const struct bpf_program *program)
{
	const char *hook = strrchr(bpf_program__section_name(program), '/');

	if (!hook)
		return NULL;
	return !strcmp(hook, "/block_bio_queue")   ? "plug_queues" :
	       !strcmp(hook, "/block_rq_complete") ? "plug_completes" :
						     NULL;
}

/* The map for a program of a plugged stream, in an object, to be tail called; otherwise NULL. */
static const char *plug_map(enum object which, const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	if (which == OBJECT_CACHE && request_map(program))
		return request_map(program);
	if (!on_system_calls(section) || goes_on(program) || stands_in(program))
		return NULL;
	return strstr(section, "/sys_enter") ? "plug_enters" : "plug_exits";
}

/*
 * Programs on functions of system calls are templates, of which functions.c attaches copies. What stands in for these
 * meanwhile is attached with the group of the calls.
 */
bool program_attaches(enum probes_group group, const struct bpf_program *program)
{
	static const char *const hooks[PROBES_GROUP_COUNT] = {
		[PROBES_ENTERS] = "/sys_enter",
		[PROBES_EXITS] = "/sys_exit",
	};
	const char *hook = strrchr(bpf_program__section_name(program), '/');
	enum object which = group_object[group];

	if (!bpf_program__autoload(program))
		return false;
	if (group == PROBES_CACHE_EXIT)
		return on_system_calls(bpf_program__section_name(program));
	if (plug_map(which, program))
		return false;
	if (which == OBJECT_BLOCK)
		return !request_map(program) == (group != PROBES_REQUESTS);
	if (hooks[group] || goes_on(program))
		return hooks[group] && goes_on(program) && hook && !strcmp(hook, hooks[group]);
	if (which != OBJECT_VFS)
		return true;
	return group == PROBES_VFS ? on_signals(program) : group == PROBES_CALLS && stands_in(program);
}

static int plug(const struct probes *probes, enum object which, struct bpf_object *object, enum iotr_stream stream)
{
	struct bpf_program *program;
	uint32_t key = stream;

	bpf_object__for_each_program(program, object) {
		const char *map = plug_map(which, program);
		int fd = bpf_program__fd(program);

		if (map && fd >= 0 && bpf_map_update_elem(probes_map(probes, map), &key, &fd, BPF_ANY) < 0)
			return -errno;
	}
	return 0;
}

/* Puts the programs of a plugged stream into the maps from which they are tail called. */
static int plug_in(const struct probes *probes, enum object which, struct bpf_object *object)
{
	for (size_t i = 0; i < sizeof(plugged) / sizeof(plugged[0]); i++)
		if (plugged[i].object == which)
			return plug(probes, which, object, plugged[i].stream);
	return 0;
}

/* ---- all of them ---- */

int objects_load_shared(struct probes *probes)
{
	struct bpf_object *object;
	int r = object_load(probes, OBJECT_SHARED, &object);

	if (r < 0)
		return r;
	atomic_store(&probes->objects[OBJECT_SHARED], object);
	atomic_fetch_or(&probes->settled, 1U << OBJECT_SHARED);
	return 0;
}

/* A stream whose programs the kernel does not accept in the maps is treated as not loaded. */
static void load_and_plug(struct probes *probes, enum object which)
{
	struct bpf_object *object;
	int r = -ENOMEM;

	if (probes->kernel.refusal) /* was logged at the start */
		return;
	for (int again = 0; r == -ENOMEM && again < MEMORY_TRIES; again++) /* what took it may have gone */
		r = object_load(probes, which, &object);
	if (r == -ENOMEM)
		atomic_store(&probes->lacked_memory, true);
	if (r < 0) {
		log_message(ABOUT(HOOK_MISSING, .hook = objects[which].name, .error = -r),
			    "the kernel does not load the BPF programs of %s, so their rows cannot be recorded: %s",
			    objects[which].name, strerror(-r));
		return;
	}
	r = probes->inherited[which].programs ? 0 : plug_in(probes, which, object);
	if (r >= 0) {
		atomic_store(&probes->objects[which], object);
		return;
	}
	log_message(ABOUT(HOOK_MISSING, .hook = objects[which].name, .error = -r),
		    "the kernel allows no tail calls to the BPF programs of %s, so their rows cannot be recorded: %s",
		    objects[which].name, strerror(-r));
	bpf_object__close(object);
}

static void make_functions(struct probes *probes)
{
	struct functions *functions = NULL;
	int r = functions_new(probes, probes->objects[OBJECT_INNER], probes->notice, &functions);

	if (r < 0)
		log_warning("no hooks on functions: %s", strerror(-r));
	else
		functions_adopt(functions, probes->left_hooks, &probes->left_hook_count);
	atomic_store(&probes->functions, functions);
}

static void load_functions(struct probes *probes)
{
	int r = -EOPNOTSUPP;

	load_and_plug(probes, OBJECT_FUNCTIONS);
	if (probes->functions && probes->inherited[OBJECT_FUNCTIONS].programs) {
		functions_take(probes->functions, inherit_copy, probes);
		r = 0;
	} else if (probes->functions) {
		r = functions_load(probes->functions, &probes->kernel, probes->objects[OBJECT_FUNCTIONS]);
	}
	if (probes->functions) {
		functions_adopt(probes->functions, probes->left_hooks, &probes->left_hook_count);
		functions_publish(probes->functions);
	}
	if (r < 0)
		log_warning("no hooks on the functions of system calls: %s", strerror(-r));
}

void object_settle(struct probes *probes, enum object which)
{
	bool functions = probes->level == PROBES_FUNCTION;

	if ((which == OBJECT_BLOCK || which == OBJECT_CACHE) && !probes->bio_ends_found) {
		if (!bio_ends_known(probes->page)) /* by the daemon before */
			bio_ends_find(probes->kernel.btf, probes->symbols, probes->page);
		atomic_store(&probes->bio_ends_found, true);
	}
	if (which != OBJECT_FUNCTIONS && (which != OBJECT_INNER || functions))
		load_and_plug(probes, which);
	if (which == OBJECT_DIRTIED)
		dirtied_tidy(probes);
	if (which == OBJECT_INNER && functions)
		make_functions(probes);
	if (which == OBJECT_FUNCTIONS && functions)
		load_functions(probes);
	atomic_fetch_or(&probes->settled, 1U << which);
}

/* At function level NET has the programs on all system calls, see bpf/net.bpf.c; where the kernel refuses them, VFS has others. */
static bool of_net(const struct probes *probes, enum probes_group group)
{
	return probes->level == PROBES_FUNCTION && (group == PROBES_ENTERS || group == PROBES_EXITS);
}

struct bpf_object *object_of(const struct probes *probes, enum probes_group group)
{
	struct bpf_object *net = of_net(probes, group) ? probes->objects[OBJECT_NET] : NULL;

	return net ?: probes->objects[group_object[group]];
}

uint32_t objects_of(const struct probes *probes, uint32_t groups)
{
	uint32_t found = 0;

	if (groups == LOADING_ALL)
		return OBJECTS_ALL;
	for (enum probes_group group = 0; group < PROBES_GROUP_COUNT; group++)
		if (groups >> group & 1)
			found |= 1U << group_object[group] | (uint32_t)of_net(probes, group) << OBJECT_NET;
	return found;
}
