/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder that rows or snapshots go to: named by a user, or made by default below the log folder. Waits for
 * the disk; any thread.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <time.h>

#include "error.h"
#include "output.h"
#include "rights.h"
#include "storage/storage.h"

struct folder_request {
	const char *named;   /* absolute, may be where the path is put; "": LOG_DIR/NAME/TIME */
	const char *log_dir; /* this and the next two are for the default */
	const char *name;
	time_t time;
	const struct rights *rights; /* with which it is made */
	const struct output_maker *maker; /* may be NULL */
};

/*
 * Makes the folder, or uses one that is there and empty; `path` says where it is. Returns a descriptor, or a
 * negative errno with "output" as the parameter of the error.
 */
int folder_open(const struct folder_request *request, char path[PATH_MAX], struct engine_error *error);

/* Removes it again, if it is empty. */
void folder_remove(const char *path, const struct rights *rights);

/* Storage counts its files from now on among all traces. -ENOMEM. */
int folder_trace(struct storage *storage, const struct trace_config *config, struct trace **ret,
		 struct engine_error *error);
