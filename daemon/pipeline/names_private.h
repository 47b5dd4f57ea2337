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
	uint32_t position;    /* index in `all` of its pool */
	uint32_t device;
	uint16_t flags;
	uint16_t length;
	bool used;	  /* used since the hand of the CLOCK algorithm last passed */
	bool dying;	  /* evicted, but rows in the rings may still need it */
	uint64_t died_in; /* cycle in which it was evicted */
	TAILQ_ENTRY(name) dying_entry;
	char text[];
};

/* Names that make room for each other. */
struct pool {
	struct name **all; /* in no order, for the CLOCK algorithm */
	uint32_t room;	   /* entries that `all` has room for */
	uint32_t count, most; /* names, and how many there may be that are not dying */
	uint32_t dying_count;
	uint32_t hand;
	size_t bytes, bytes_most, bytes_full; /* that they take, may take while none is dying, and may take at all */
	size_t dying_bytes;
	TAILQ_HEAD(, name) dying; /* oldest first */
};

/* Arguments are many and of short use: those of one program's search must not push out files that others work on. */
enum pool_kind {
	POOL_FILES,
	POOL_ARGUMENTS,
	POOL_COUNT,
};

struct names {
	struct names_config config;
	struct table by_id;
	struct table by_inode;
	struct mounts mounts;
	struct pool pools[POOL_COUNT];
	uint64_t cycle;
	uint64_t epoch; /* counted up when cached paths may have become wrong */
	struct names_counts counts;
	struct path path; /* the one that is being built */
};

static inline struct pool *name_pool(struct names *names, uint16_t flags)
{
	return &names->pools[flags & IOTR_NAME_ARGUMENT ? POOL_ARGUMENTS : POOL_FILES];
}

/* Bytes that a name takes. */
static inline size_t name_size(const struct name *name)
{
	return sizeof(*name) + name->length + (name->path ? name->path_length : 0);
}

/* The path of a name, built where that has not been done; false: out of memory. */
bool name_describe(struct names *names, struct name *name, struct names_path *path);
