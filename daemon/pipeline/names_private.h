/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What names.c, which keeps the names, and names_path.c, which builds their paths, share. */
#pragma once

#include <sys/queue.h>

#include "mounts.h"
#include "names.h"
#include "path.h"
#include "table.h"

#define NAMES_DEPTH_MAX 256 /* parents of a name that are followed */

struct name {
	uint64_t id;
	uint64_t parent;
	uint64_t inode;
	const char *fs_type;
	char *path;	      /* built at first use */
	uint64_t path_epoch;  /* `epoch` of the names when the path was built */
	uint32_t path_length; /* with the mark of a deleted file */
	uint32_t base_length; /* without it: the beginning of the paths of children */
	uint32_t position;    /* index in `ring` */
	uint32_t device;
	uint16_t flags;
	uint16_t length;
	bool used;	  /* used since the hand of the CLOCK algorithm last passed */
	bool dying;	  /* evicted, but rows in the rings may still need it */
	uint64_t died_in; /* cycle in which it was evicted */
	TAILQ_ENTRY(name) dying_entry;
	char text[];
};

struct names {
	struct names_config config;
	struct table by_id;
	struct table by_inode;
	struct mounts mounts;
	struct name **ring; /* all names, in no order, for the CLOCK algorithm */
	uint32_t room;	    /* entries that `ring` has room for */
	uint32_t count;
	uint32_t dying_count;
	uint32_t hand;
	size_t bytes;
	size_t dying_bytes;
	uint64_t cycle;
	uint64_t epoch;		  /* counted up when cached paths may have become wrong */
	TAILQ_HEAD(, name) dying; /* oldest first */
	struct names_counts counts;
	struct path path; /* the one that is being built */
};

/* Bytes that a name takes. */
static inline size_t name_size(const struct name *name)
{
	return sizeof(*name) + name->length + (name->path ? name->path_length : 0);
}

/* The path of a name, built where that has not been done; false: out of memory. */
bool name_describe(struct names *names, struct name *name, struct names_path *path);
