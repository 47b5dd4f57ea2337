/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder beside a log for fio, LOG.files, with what fio can open in place of files whose names it cannot read, or that no name
 * leads to any more: symbolic links to the former, files of their own in place of the latter. It has a list of them, too, names.csv.
 * It is made when the first of them is wanted, and gets its name at the end. One thread.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "output/new_folder.h"

struct fio_folder {
	char path[PATH_MAX], absolute[PATH_MAX];
	const char *base; /* the one of both by which the log calls it; NULL: it cannot */
	struct new_folder folder;
	FILE *list;
	uint32_t count;
};

/* `log`: where it will be; NULL: it has no name, and there is no folder. */
void fio_folder_init(struct fio_folder *folder, const char *log);

/*
 * Makes a name for a file. `target`: the path that leads to it; NULL: none does, so it gets a file, of `size` bytes that are 0.
 * `last`: the path that it had last. Returns 0; -ENOENT: there is no folder; -EEXIST: something has its name; or another error.
 */
int fio_folder_add(struct fio_folder *folder, const char *target, const char *last, uint64_t size, char *name, size_t room);

/* All was added. Returns 0 or an error. */
int fio_folder_keep(struct fio_folder *folder);

/* `remove`: with what was kept. */
void fio_folder_done(struct fio_folder *folder, bool remove);
