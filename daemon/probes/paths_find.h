/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks up on the disk what path filters name: those folders, and all above them. The disk may take
 * long to answer, so this is done before the control page is changed, in a thread that shares nothing
 * with the page.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/filter_error.h"
#include "session_spec.h"

/* A folder, or the file that a path names. */
struct paths_folder {
	uint64_t name;	 /* see paths_part(); 0: the root */
	uint64_t inode;
	uint32_t device; /* device of the super block: major << 20 | minor */
	uint32_t volume; /* that of the subvolume on btrfs, as stat(2) shows it, otherwise the same */
	uint32_t parent; /* index in folders: parents are before their children, the root is first */
	bool named;	 /* a path filter ends here */
};

struct paths_found {
	struct paths_folder *folders;
	size_t count; /* at most IOTR_PATH_NODES - 1; 0: the spec has no path */
};

/*
 * Looks up each path with its links resolved and as it was given, if that has no "..". -E2BIG: there
 * are more folders than IOTR_PATH_NODES; -EINVAL: a path does not exist, or cannot be told from others.
 * The caller frees the result, also when the spec has no path. Any thread.
 */
int paths_find(const struct iotr_session_spec *spec, struct paths_found **ret, struct filter_error *error);

void paths_found_free(struct paths_found *found); /* takes NULL */

/* A component of a path as a number, the same as on the kernel side: see path_name.h. At most 255 bytes. */
uint64_t paths_part(const char *name, size_t length);
