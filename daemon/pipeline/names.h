/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The dictionary of file names: ids that rows carry, resolved to absolute paths. Consumer thread
 * only. It owns all texts; a path it returns is valid until the next call that adds, drops or frees
 * names.
 *
 * Bounded: NAMES_MAX names and NAMES_BYTES_MAX bytes, and for arguments of calls, which make room only for
 * each other, NAMES_ARGUMENTS_SHARE of that besides. The least used are evicted first: the
 * `forget` callback gets the id, so that the kernel side sends the name again when it meets the
 * file again. An evicted name stays usable until the end of the cycle after the current one, for
 * rows that are still in the rings; as many may be kept so as rows can be in the rings, each with a
 * name of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

enum {
	NAMES_MAX = 65536,
	NAMES_BYTES_MAX = 12 * 1024 * 1024,
	NAMES_WAITING_MAX = 262144, /* evicted names that are kept; the next are their bytes */
	NAMES_WAITING_BYTES_MAX = 64 * 1024 * 1024,
	NAMES_ARGUMENTS_SHARE = 4, /* arguments have one in so many of all these */
	NAMES_PATH_MAX = 32768, /* bytes of an escaped path; a longer one loses its front */
};

struct names;

struct names_config {
	void (*forget)(uint64_t id, void *userdata); /* may be NULL */
	void *userdata;
	uint32_t names_max; /* 0: NAMES_MAX */
	size_t bytes_max;   /* 0: NAMES_BYTES_MAX */
	uint32_t waiting_max; /* 0: NAMES_WAITING_MAX */
	size_t waiting_bytes_max; /* 0: NAMES_WAITING_BYTES_MAX */
};

struct names_path {
	const char *text; /* escaped, no NUL at its end */
	uint32_t length;
	uint32_t device;     /* of the name record, 0: unknown */
	const char *fs_type; /* "" when unknown; lives as long as the names */
	bool complete;	     /* false: a parent is unknown, the path begins with ".../" */
};

int names_new(const struct names_config *config, struct names **ret);
void names_free(struct names *names); /* takes NULL */

/*
 * Adds or replaces a name; the record is copied. -EINVAL: not a name record of that size;
 * -ENOSPC: too many at once (it is forgotten, so that it comes again).
 */
int names_add(struct names *names, const struct iotr_name_record *record, size_t size);

/* False for an id that is not known; `path` is written only when true. */
bool names_resolve(struct names *names, uint64_t id, struct names_path *path);

/* Path of the name last added for an inode; false when there is none. */
bool names_inode(struct names *names, uint32_t device, uint64_t inode, struct names_path *path);

/* Has the kernel side send a name and its parents again: one of them was lost. */
void names_resend(struct names *names, uint64_t id);

/* Type of the file system on a device, from names or from mountinfo; "" when unknown. */
const char *names_device_fs(struct names *names, uint32_t device);

/*
 * Every ring has been drained once, IOTR_NAME_STAYS_NS or more after the last such call: frees what was evicted before that
 * one.
 */
void names_cycle_end(struct names *names);

struct names_counts {
	uint64_t names;			  /* now in the dictionary */
	uint64_t bytes;			  /* bytes that they take */
	uint64_t added, evicted, refused; /* since the beginning */
};

void names_counts(const struct names *names, struct names_counts *counts);
