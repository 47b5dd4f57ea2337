/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder that a verb writes; it gets its name when it is whole, as a file does (see new_file.h). One thread. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct new_folder {
	const char *path;	  /* borrowed */
	char temporary[PATH_MAX]; /* where it is until then; "": nowhere */
};

/* Makes one of mode 0700. Returns 0, or an error: -EEXIST when there is something of that name. new_folder_done() must follow. */
int new_folder_open(struct new_folder *folder, const char *path);

/* All was written: gives it its name. Returns 0, or an error as above. */
int new_folder_keep(struct new_folder *folder);

/* Bytes of all files in it, after it was kept. */
uint64_t new_folder_size(const char *path);

/* Removes it with all that is in it unless it was kept. */
void new_folder_done(struct new_folder *folder);

/* Removes all that is in a folder and, if it is wished, the folder itself; what cannot be removed stays. */
void folder_remove(const char *path, bool itself);
