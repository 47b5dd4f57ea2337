/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the ids of cgroups in rows stand for, from cgroups/cgroups.csv of a trace. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cgroup_name {
	uint64_t id;
	char *path;
	char *name; /* its unit; else its container, its pod, its path */
	char *unit; /* "": none */
};

struct cgroup_names {
	struct cgroup_name *names; /* sorted by id; of one that was used again the last */
	size_t count;
};

/* Reads the file in the trace's folder. A trace without one, or an unreadable one, has no names. */
void cgroup_names_read(int folder_fd, struct cgroup_names *names);
void cgroup_names_done(struct cgroup_names *names);

/* NULL: it is not known. */
const struct cgroup_name *cgroup_names_find(const struct cgroup_names *names, uint64_t id);
