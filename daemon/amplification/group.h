/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A window's accounts summed up by what they have in common. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "amplification/window.h"

enum group_by { GROUP_BY_SYSTEM, GROUP_BY_PROCESS, GROUP_BY_UNIT, GROUP_BY_CONTAINER, GROUP_BY_DEVICE, GROUP_BYS };

/* The one of that name, as "system"; -ENOENT. */
int group_by_find(const char *name);
const char *group_by_name(enum group_by by);

enum group_kind {
	GROUP_NAMED,
	GROUP_NONE,    /* processes that are of no system, unit or container */
	GROUP_KERNEL,  /* what no process is known for */
	GROUP_NO_ROOM, /* processes for which there was no room */
};

struct group {
	enum group_kind kind;
	char name[CGROUP_UNIT_SIZE];   /* "" for other kinds than GROUP_NAMED */
	const struct process *process; /* by process: it; by others NULL */
	uint32_t device;	       /* by device: as in struct iotr_layer_key; by others 0 */
	struct counts counts;
};

struct group_list {
	struct group *groups; /* those with names first, then by bytes */
	size_t count;
	struct counts all;
	struct counts command; /* of the command's processes, if one was wished for */
};

struct group_wish {
	enum group_by by;
	const char *const *systems; /* these alone, without regard to case; NULL: all there is */
	size_t system_count;
	uint32_t command; /* groups are of its processes alone, and of those for which there was no room; 0: of all */
	const char *sys; /* where sysfs is mounted */
};

/* -ENOMEM. The list is valid as long as the window does not change. */
int group_window(const struct window *window, const struct group_wish *wish, struct group_list *ret);
void group_list_done(struct group_list *list);
