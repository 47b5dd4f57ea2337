/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the sources that implement probes.h. Main thread. */
#pragma once

#include <stdatomic.h>

#include "probes/probes.h"

#define RINGS_MAX     64
#define CPUS_PER_RING 8
#define DIRTIED_TABLES 3

/* In the order of loading, where nobody waits for one of them. A map that several have is of the first one loaded. */
enum object {
	OBJECT_SHARED, /* loaded first, by itself: the others reuse its maps */
	OBJECT_PROCESS,
#define OBJECT_NUMBER(id, ...) OBJECT_##id,
	IOTR_STREAMS(OBJECT_NUMBER)
	IOTR_FURTHER_OBJECTS(OBJECT_NUMBER)
	OBJECT_FUNCTIONS, /* programs on functions, of the same file as OBJECT_VFS, and their copies */
	OBJECT_COUNT,
};

#define OBJECTS_ALL ((1U << OBJECT_COUNT) - 1)

struct loading;
struct late;
struct bequest;

/* Programs of an object that an earlier daemon has loaded; see inherit.h. */
struct inherited {
	struct inherited_program {
		const struct bpf_program *program;
		int fd;
	} *programs; /* NULL: this daemon loads them */
	size_t count;
};

/* One of iotracer's own processes; see own.h. */
struct own {
	uint32_t process; /* 0: none */
	uint32_t count; /* calls of own_add() minus those of own_remove() */
};

struct probes {
	enum probes_level level;
	struct kernel kernel;
	struct bpf_object *_Atomic objects[OBJECT_COUNT]; /* NULL: not loaded; set by the thread that loads them */
	struct inherited inherited[OBJECT_COUNT]; /* by object, valid when that is set */
	uint64_t objects_hash; /* of their bytes, as this daemon has them */
	struct bequest *bequest; /* what the last daemon has left, until all is loaded; NULL: nothing; see inherit.h */
	int *left_hooks; /* its hooks that nobody has adopted yet */
	size_t left_hook_count;
	_Atomic uint32_t settled; /* those that are loaded, or that the kernel refuses, as bits */
	struct loading *loading; /* the thread that loads them, and who waits for it; NULL: it was not started */
	size_t inner_told; /* of so many inner hooks, what failed is among the failures; see handover.c */
	uint64_t functions_ns; /* CLOCK_MONOTONIC: since then no call begins at the stand-in; see handover.c */
	int notice; /* eventfd of the main loop: something was loaded, or attached by a thread */
	struct functions *_Atomic functions; /* hooks on the functions of system calls; NULL at tracepoint level */
	_Atomic bool lacked_memory; /* programs were not loaded for lack of it, which is no word of the kernel's on their hooks */
	int *links[PROBES_GROUP_COUNT]; /* descriptors */
	size_t link_count[PROBES_GROUP_COUNT];
	struct fault_event *fault_events; /* perf events at the ends of page faults; see fault_events.h */
	size_t fault_event_count;
	uint64_t cpu_changes; /* of the page, up to which they follow the CPUs */
	uint64_t fault_period; /* period of the perf events: they trigger for one fault in so many */
	uint32_t fault_one_in[IOTR_SESSION_SLOTS]; /* by slot: the session takes one fault in so many; 0: none */
	bool attached[PROBES_GROUP_COUNT];
	struct late *late[PROBES_GROUP_COUNT]; /* a thread that attaches them; NULL: there is none; see late.h */
	struct probes_failure *failures; /* hooks of attached groups that could not be attached */
	size_t failure_count;
	struct own own[IOTR_OWN];
	uint64_t own_before; /* what was left out of those that have gone */
	int symbols; /* as in struct probes_config */
	_Atomic bool bio_ends_found; /* the page's are, by the thread that loads what needs them */
	struct iotr_control *page;
	uint64_t *known;
	int dirtied[DIRTIED_TABLES]; /* descriptors of the tables of dirtied.h; -1: they are not there */
	int rings[RINGS_MAX];
	size_t ring_count;
};

/* ---- objects.c ---- */

/* Loads the object whose maps all others reuse. */
int objects_load_shared(struct probes *probes);

/* Loads another one; what the kernel refuses is logged and stays NULL. Any one thread. */
void object_settle(struct probes *probes, enum object which);

/*
 * Prepares an object that is loaded by itself, before it is: its constants, which of its programs this kernel is to load,
 * and that it has those of its maps that are in a loaded object from there. Any thread.
 */
int object_prepare(const struct probes *probes, struct bpf_object *object);

/* Of all objects, as this daemon has them. */
uint64_t objects_hash(void);

/* The objects that the groups' programs are in, of a level: see probes_groups(). Both are masks of bits. */
uint32_t objects_of(const struct probes *probes, uint32_t groups);

/* The object that has the group's programs; NULL: it is not loaded. */
struct bpf_object *object_of(const struct probes *probes, enum probes_group group);

/* The map of that name in the first loaded object that has it; NULL: none has. */
struct bpf_map *map_find(const struct probes *probes, const char *name);

/* Bytes of memory that the kernel says a map has: "memlock" in its fdinfo; 0: it does not say. Any thread. */
uint64_t map_memory(int fd);

/* The same, and the object, whose BTF describes the map. */
struct bpf_map *map_owner(const struct probes *probes, const char *name, const struct bpf_object **owner);

/* Whether the program is attached itself with the group: not if it is tail called, or copied. */
bool program_attaches(enum probes_group group, const struct bpf_program *program);

/* ---- loading.c ---- */

/* Ends the thread, if there is one. False: it is still loading an object, and uses all of this until the process ends. */
bool loading_free(struct probes *probes);

/* ---- attach.c ---- */

/* Adds a hook of the group to probes_failures(), and logs it; nobody tries it again but who attached it. */
void probes_fail(struct probes *probes, enum probes_group group, const char *hook, int error);

/* Takes what threads have attached, see late.h. */
void probes_late_see_to(struct probes *probes);

/* Detaches all groups, and waits for threads that attach. */
void probes_detach_all(struct probes *probes);

/* Forgets the failures of a group's hooks that probes_fail() has added. */
void probes_fail_forget(struct probes *probes, enum probes_group group);
