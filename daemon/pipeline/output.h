/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of a session. Any thread; both functions wait for the disk. They return a descriptor of the
 * folder, which the caller closes, or a negative errno with a sentence for the user in `message`.
 */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <time.h>

/*
 * Called with the path of a folder that does not exist, before it is made: a daemon that is killed in between
 * finds the folder again by that. It may be called again with another path, when somebody else made the first
 * one meanwhile.
 */
struct output_maker {
	void (*makes)(const char *path, void *userdata);
	void *userdata;
};

/*
 * A folder that the user named: created where it is missing (its parent must exist), refused
 * where it holds anything (-ENOTEMPTY), is no folder (-ENOTDIR) or cannot be written (-EACCES).
 * `maker` may be NULL.
 */
int output_create(const char *path, const struct output_maker *maker, char *message, size_t message_size);

/*
 * LOG_DIR/NAME/YYYYMMDDTHHMMSSZ with its parents, "-2" and so on appended while that exists;
 * `path` says which. `maker` may be NULL here too.
 */
int output_create_default(const char *log_dir, const char *name, time_t start, char path[PATH_MAX],
			  const struct output_maker *maker, char *message, size_t message_size);
