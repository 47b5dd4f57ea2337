/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sources of probes.h share. Main thread. */
#pragma once

#include "probes/probes.h"

#define RINGS_MAX     64
#define CPUS_PER_RING 8

/* The order in which they are loaded: one that shares a map comes after the one that has it. */
#define OBJECTS(X) \
	X(SYSCALLS, syscalls) X(INODES, inodes) X(ASYNC, async) X(BLOCK, block) X(PROCESS, process) \
	X(EPOLL, epoll) X(SOCKOPT, sockopt) X(DROP, drop) X(IOURING, iouring) \
	X(NET, net) X(NET_URING, net_uring) X(CONN, conn) X(CONN_URING, conn_uring) \
	X(CACHE, cache) X(PAGEFAULT, pagefault)

enum object {
	OBJECT_SHARED, /* first: the others take its maps */
#define OBJECT_NUMBER(id, name) OBJECT_##id,
	OBJECTS(OBJECT_NUMBER)
	OBJECT_COUNT,
};

struct probes {
	enum probes_level level;
	struct kernel kernel;
	struct bpf_object *objects[OBJECT_COUNT]; /* NULL: not there */
	struct functions *functions; /* hooks on the functions of system calls */
	struct bpf_link **links[PROBES_GROUP_COUNT];
	size_t link_count[PROBES_GROUP_COUNT];
	int *fault_events; /* of perf, that tell the ends of page faults */
	size_t fault_event_count;
	uint64_t fault_period; /* of one in so many */
	uint32_t fault_one_in[IOTR_SESSION_SLOTS]; /* that each session wants; 0: none */
	bool attached[PROBES_GROUP_COUNT];
	struct iotr_control *page;
	uint64_t *known;
	int rings[RINGS_MAX];
	size_t ring_count;
};

/* ---- objects.c ---- */

/* The maps that all others take. */
int objects_load_shared(struct probes *probes);

/* All others; what the kernel refuses is logged, and not there. */
void objects_load(struct probes *probes);

/* The one that has the group's programs, or NULL. */
struct bpf_object *object_of(const struct probes *probes, enum probes_group group);

/* The map of that name in an object loaded before: the shared ones first, then the slots. */
struct bpf_map *map_find(const struct probes *probes, const char *name);

/* Whether the program is attached with the group, by itself: not one that system calls go on to. */
bool program_attaches(enum probes_group group, const struct bpf_program *program);

/* ---- attach.c ---- */

/*
 * Has perf tell the end of one in so many page faults, now and whenever the group is attached. Returns in
 * how many it does, as the kernel may refuse.
 */
uint64_t probes_fault_period(struct probes *probes, uint64_t period);
