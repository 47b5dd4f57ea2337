/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a log for fio, by identity: device and inode, until the file is removed, and where rows lack those, the name. One
 * file has one name in the log, whatever it was called meanwhile: the one that it has at the trace's end, if that leads to it
 * and fio can read it. Any other gets a name of the log's own, in a folder beside it. Takes an all-zero object as empty. One thread.
 */
#pragma once

#include <limits.h>

#include "export/names.h"
#include "export/row.h"

enum {
	FIO_NAME_MAX = 255,
	FIO_FILES_MAX = 1 << 18, /* fio reads the whole log before it begins, and has room for each file */
};

struct fio_file {
	uint32_t path;	   /* number of the one that it had last */
	uint64_t read_end; /* bytes from its start that were read */
	bool gone;	   /* it was removed, and has no name any more */
	bool moved;	   /* it was read, written or discarded */
	bool anonymous;	   /* its identity is unknown */
};

struct fio_files {
	struct export_names paths, identities;
	struct fio_place {
		uint32_t file; /* and 1; 0: none */
	} *by_path, *by_identity; /* which file each of them means now */
	size_t path_room, identity_room;
	struct fio_file *files;
	size_t count, room;
};

/*
 * The number of the row's file, which is that of `count` before when it is new. -EINVAL: the row has no path, or one that leads
 * elsewhere than it says; -E2BIG: there are more than FIO_FILES_MAX; -ENOMEM.
 */
int64_t fio_files_number(struct fio_files *files, const struct export_row *row);

/* Looks at a row that makes, moves or removes names; any other is ignored. Returns 0 or -ENOMEM. */
int fio_files_follow(struct fio_files *files, const struct export_row *row);

/* The path that leads to the file at the end, or NULL. */
const char *fio_files_path(const struct fio_files *files, uint32_t file);

/* The path that the file had last, whoever has that now. */
const char *fio_files_last(const struct fio_files *files, uint32_t file);

/* Whether fio can read the name: it ends at white space, and is not to be too long. */
bool fio_takes(const char *name);

void fio_files_done(struct fio_files *files);
