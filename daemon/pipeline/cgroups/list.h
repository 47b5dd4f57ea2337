/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroups that a session's rows may name, copied for the thread that writes them. One thread at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cgroup_entry {
	uint64_t id;
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC, while the session ran: it was there from then until then */
	size_t path;		    /* where it begins in `paths` */
};

struct cgroup_list {
	struct cgroup_entry *entries;
	size_t count, room;
	char *paths; /* each with a NUL */
	size_t used, size;
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC: the time that the list is about */
	uint64_t left_out;	 /* cgroups of that time that are not in it */
	char message[256];	 /* why it is not all of them, or "" */
};

/* NULL without memory. */
struct cgroup_list *cgroup_list_new(void);
void cgroup_list_free(struct cgroup_list *list); /* takes NULL */

/* -ENOMEM. */
int cgroup_list_add(struct cgroup_list *list, uint64_t id, uint64_t first_ns, uint64_t last_ns, const char *path);

/* By id, which is the order in which they were made. */
void cgroup_list_sort(struct cgroup_list *list);

static inline const char *cgroup_list_path(const struct cgroup_list *list, const struct cgroup_entry *entry)
{
	return list->paths + entry->path;
}
