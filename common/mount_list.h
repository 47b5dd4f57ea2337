/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's table of mounts, read with libmount. No mounted file system is accessed, so one that does not answer
 * blocks nothing. One thread per list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mount_entry {
	uint64_t id;	 /* of the mount */
	uint32_t device; /* of the file system, major << 20 | minor */
	/* These live as long as the list; their bytes are as they are, without escapes. */
	const char *path; /* where it is mounted */
	const char *root; /* what of its file system it shows */
	const char *type;
	const char *source;  /* "" for none */
	const char *options; /* of the mount, as in rw,noatime; not those of the file system, which hold names */
};

struct mount_list {
	struct libmnt_table *table;
	struct libmnt_iter *position;
};

/*
 * Reads the whole table of a process (/proc/PID/mountinfo; NULL: of this one). Lines that are none are passed over.
 * A negative errno where it cannot be read. Call mount_list_done() in any case.
 */
int mount_list_read(const char *file, struct mount_list *list);

/* The next mount in the order of mounting. False: there is no more. */
bool mount_list_next(struct mount_list *list, struct mount_entry *ret);
void mount_list_done(struct mount_list *list);

/* Whether files on a mount of that type are no files to a storage engineer: proc, sysfs, cgroup, ... */
bool mount_is_pseudo(const char *type);
