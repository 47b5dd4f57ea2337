/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is mounted, by path. Any thread. */
#pragma once

#include <stddef.h>

#include "mount_list.h"

struct mountinfo_entry {
	struct mount_entry mount;
	size_t order; /* of mounting */
};

struct mountinfo {
	struct mount_list list; /* what the entries point into */
	struct mountinfo_entry *entries; /* by path; of several on one path the top one alone */
	size_t count;
};

/* `file`: NULL for the process's own. */
int mountinfo_read(const char *file, struct mountinfo *mounts);
void mountinfo_done(struct mountinfo *mounts);

/* The mount that the path is on. NULL: none. */
const struct mount_entry *mountinfo_of(const struct mountinfo *mounts, const char *path);

/* What is mounted at exactly that path. NULL: nothing. */
const struct mount_entry *mountinfo_at(const struct mountinfo *mounts, const char *path,
					   size_t length);

/* Index of the first entry that may be below a path of that length: those that are follow one another. */
size_t mountinfo_below(const struct mountinfo *mounts, const char *path, size_t length);
