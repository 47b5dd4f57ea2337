/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All traces of the machine together: limits over all sessions, and the thread that compresses.
 * Main thread, where nothing else is said; the traces themselves are for any thread.
 *
 * Two limits hold for traces below the log folder, those of ended sessions included:
 *
 *   max_use    bytes of all their files
 *   keep_free  bytes of the file system that no session may use; it holds for sessions with a
 *              folder of their own on that file system too. Where others have used them, sessions
 *              replace their oldest segments and do not grow.
 *
 * Room is made by removing the oldest closed segment of any session.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace.h"

struct storage;

/* Bytes; 0: no limit. */
struct storage_limits {
	uint64_t max_use;
	uint64_t keep_free;
};

/*
 * Looks at what is there below the log folder and starts the thread. The path is copied.
 *
 * `recovered`: absolute paths of folders that a thread is about to set right, ended by NULL; may be
 * NULL. Their closed segments may be removed to make room, as at any time; but they are not
 * compressed, and their manifests not touched, until storage_recovered().
 */
int storage_new(const char *log_dir, const struct storage_limits *limits,
		const char *const *recovered, struct storage **ret);

/*
 * Such a folder has been set right or given up, and is looked at anew; what was removed meanwhile
 * is told to its manifest. `compress`: what is not, will be. Any thread, and it waits for the disk;
 * no effect for a folder that is not one of them.
 */
void storage_recovered(struct storage *storage, const char *path, bool compress);

/* Ends the thread: what is not compressed yet stays as it is. Takes NULL. */
void storage_stop(struct storage *storage);

/* The same, and all is freed; every trace has been. Takes NULL. */
void storage_free(struct storage *storage);

/* What is too much from now on is removed in the background. */
void storage_set_limits(struct storage *storage, const struct storage_limits *limits);

struct trace_config {
	int folder_fd;		    /* a copy is kept */
	const char *path;	    /* absolute; copied */
	uint32_t streams;	    /* bit per enum iotr_stream */
	bool compress;		    /* to gzip */
	uint64_t keep_size;	    /* bytes, 0: no limit */
	unsigned int keep_segments; /* closed ones of each stream, 0: no limit */
};

/* The folder of a session that begins; it is empty. Waits for the disk; any thread. */
int storage_add(struct storage *storage, const struct trace_config *config, struct trace **ret);
