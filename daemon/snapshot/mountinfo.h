/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is mounted, as /proc/self/mountinfo tells it: no mount is accessed. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mountinfo_entry {
	char *path;   /* mount point, its bytes as they are */
	char *type;
	char *source;
	char *options; /* of the mount, as in rw,noatime; not those of the file system, which hold names */
	uint32_t major, minor;
	size_t order; /* of mounting */
};

struct mountinfo {
	struct mountinfo_entry *entries; /* by path; of several on one path the top one alone */
	size_t count;
};

/* `file`: NULL for the process's own. */
int mountinfo_read(const char *file, struct mountinfo *mounts);
void mountinfo_done(struct mountinfo *mounts);

/* The mount that the path is on. NULL: none. */
const struct mountinfo_entry *mountinfo_of(const struct mountinfo *mounts, const char *path);

/* What is mounted at exactly that path. NULL: nothing. */
const struct mountinfo_entry *mountinfo_at(const struct mountinfo *mounts, const char *path,
					   size_t length);

/* Index of the first entry that may be below a path of that length: those that are follow one another. */
size_t mountinfo_below(const struct mountinfo *mounts, const char *path, size_t length);

/* Whether the type is proc, sysfs, cgroup, ...: their files are no files to a storage engineer. */
bool mountinfo_pseudo(const char *type);
