/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A walk over a folder and what is below it, each file once: the root, then each folder's entries
 * in the order of the disk, each folder followed at once by its contents.
 *
 * It stays on the root's device. Mount points of another file system are skipped untouched, so that
 * one that hangs does no harm; bind mounts of the same one are walked once, by whichever path comes
 * first. Symbolic links are not followed. What vanishes meanwhile is left out, what cannot be
 * looked at is counted.
 *
 * Memory: at most 64 KiB, and for each level as much for the entries that are left. Descriptors:
 * WALK_OPEN_MAX; above deeper levels folders are opened again by "..".
 *
 * One thread at a time: calls of the file system are guarded. After one was abandoned, walk_pass()
 * passes over what hung, and the next thread goes on with walk_run().
 */
#pragma once

#include <linux/stat.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guard.h"
#include "mountinfo.h"

struct statx;

enum {
	WALK_OPEN_MAX = 128,
};

struct walk_entry {
	const char *path;
	size_t length;
	const struct statx *stat;
};

/* A negative errno ends the walk. */
typedef int (*walk_handler)(const struct walk_entry *entry, void *userdata);

struct walk_config {
	const char *root;      /* absolute */
	const char *mountinfo; /* NULL: the process's own */
	uint32_t depth;	       /* levels of entries below the root that are reported; 0: the root alone */
	struct guard *guard;
	walk_handler handler;
	void *userdata;
};

struct walk;

int walk_new(const struct walk_config *config, struct walk **ret);
void walk_free(struct walk *walk); /* takes NULL */

/*
 * Runs to the end. -ENOTDIR, -ENOENT, ...: of the root; -EINVAL: it is on a pseudo file system;
 * otherwise what the handler returned.
 */
int walk_run(struct walk *walk);

/* Passes over what hangs, and returns its path, borrowed until the next call. */
const char *walk_pass(struct walk *walk);

/* Things that could not be looked at, those passed over included. */
uint64_t walk_skipped(const struct walk *walk);
