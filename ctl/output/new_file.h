/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that a verb writes: it gets its name when it is whole, so that nobody sees half of it, and nothing that has the
 * name already is written over unless that is asked for. One thread.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct new_file {
	const char *path; /* borrowed; NULL: stdout */
	FILE *stream;
	bool force;
	char temporary[PATH_MAX]; /* name until then; "": it has none, and is gone with this program */
};

/*
 * Begins one of mode 0600. `force`: what is there will be written over. Path "-": stdout. Returns 0, or an error: -EEXIST
 * when there is something that must not be written over. new_file_done() must follow.
 */
int new_file_open(struct new_file *file, const char *path, bool force);

/* A file without a name, to write and read, in the folder of the path if it can be there, else where such files are. NULL: none. */
FILE *new_file_scratch(const char *path);

/* The error of what was written to the stream just now, if there was one, or 0. */
int new_file_error(FILE *stream);

/* All was written: gives it its name. Returns 0, or an error as above. */
int new_file_keep(struct new_file *file, uint64_t *size);

/* Removes it unless it was kept. */
void new_file_done(struct new_file *file);
