/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sources of walk.h share: walk.c, and below it walk_levels.c. */
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include "walk.h"

#define WALK_OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

enum { WALK_CHUNK_SIZE = 64 * 1024 }; /* of entries that are read at once */

/* A folder that is being read. */
struct walk_level {
	int fd; /* -1: to be opened again */
	bool has_mounts;
	uint64_t inode;
	size_t path_length;
	int64_t offset; /* where to read on, while it is closed */
	/* Entries that were read and are left; NULL: they are in the walk's buffer, or there are none */
	char *rest;
	size_t size, at;
};

enum walk_stage {
	STAGE_ROOT,
	STAGE_BINDS,
	STAGE_TREE,
	STAGE_END,
};

struct walk {
	struct walk_config config;
	struct mountinfo mounts;
	uint32_t root_device; /* as the table of mounts has it, which may not be st_dev */
	uint32_t major, minor;
	struct walk_bind *binds;
	size_t bind_count;
	size_t mount_at; /* the next one to look at in STAGE_BINDS */
	enum walk_stage stage;
	bool reading; /* a folder: if that hangs, all of it is given up */
	struct walk_level *levels;
	size_t level_count, level_capacity;
	char *path;
	size_t path_length, path_capacity;
	char *buffer; /* of WALK_CHUNK_SIZE */
	uint64_t skipped;
	int error; /* that ends the walk */
};

/* ---- walk_levels.c ---- */

/*
 * Calls that may hang: 0 or a descriptor, or a negative errno. A folder is opened so that reading it leaves its access
 * time alone, where we may ask for that.
 */
int walk_look(struct walk *walk, int fd, const char *name, int flags, struct statx *stat);
int walk_open(struct walk *walk, int fd, const char *name);

/* The innermost folder; NULL: the walk has left the root. */
static inline struct walk_level *walk_top(struct walk *walk)
{
	return walk->level_count ? &walk->levels[walk->level_count - 1] : NULL;
}

/* Enters the folder of the walk's path, open as `fd`, which is the walk's then, but for an error. */
int walk_enter(struct walk *walk, int fd, uint64_t inode);

/*
 * The name of the innermost folder's next entry, valid until the next call that reads. NULL: ask again, as entries
 * were read, or there were none and the folder was left. Folders above that cannot be found again are given up.
 */
const char *walk_next(struct walk *walk);

/* Forgets the innermost folder. */
void walk_drop(struct walk *walk);

/* The same for a folder in whose reading another thread hangs. */
void walk_give_up(struct walk *walk);
