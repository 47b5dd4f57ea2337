/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All traces of the machine together: limits over all sessions, and the threads that compress (keepers): one,
 * and another one for as long as a disk does not answer, so that only work on that disk waits for it.
 * Main thread, unless stated otherwise; the traces themselves are for any thread.
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

#include "rights.h"
#include "trace.h"

struct storage;

/* Bytes; 0: no limit. */
struct storage_limits {
	uint64_t max_use;
	uint64_t keep_free;
};

/*
 * Scans the log folder and starts the threads. The path is copied, and so are the rights with which they work
 * there.
 *
 * `recovered`: absolute paths of folders that a thread is about to recover, ended by NULL; may be NULL. Their
 * closed segments may be removed to make room, as at any time; but they are not compressed, and their manifests
 * not touched, until storage_recovered().
 */
int storage_new(const char *log_dir, const struct rights *rights, const struct storage_limits *limits,
		const char *const *recovered, struct storage **ret);

/*
 * Such a folder has been recovered or given up: it is scanned again, and what was removed meanwhile
 * is noted in its manifest. `compress`: its text segments will be compressed. Any thread, and it
 * waits for the disk; no effect for a folder that is not one of them.
 */
void storage_recovered(struct storage *storage, const char *path, bool compress);

/*
 * Ends the threads: segments that are not compressed yet stay as they are. False: a disk does not answer; a
 * thread is left running, and the storage is not to be freed. Waits for 15 s at most. Takes NULL.
 */
bool storage_stop(struct storage *storage);

/* Calls storage_stop(), and frees all if that is true; every trace must have been freed. Takes NULL. */
bool storage_free(struct storage *storage);

/* What exceeds the new limits is removed in the background. */
void storage_set_limits(struct storage *storage, const struct storage_limits *limits);

/* How much counted traces use now, and the limits, in bytes. */
void storage_usage(struct storage *storage, uint64_t *used, struct storage_limits *limits);

struct trace_config {
	int folder_fd;		    /* a copy is kept */
	const char *path;	    /* absolute; copied */
	const struct rights *rights; /* with which it is written, copied; NULL: as below the log folder */
	uint32_t streams;	    /* bit per enum iotr_stream */
	bool compress;		    /* to gzip */
	uint64_t keep_size;	    /* bytes, 0: no limit */
	unsigned int keep_segments; /* closed ones of each stream, 0: no limit */
};

/* The folder of a session that begins; it is empty. Waits for the disk; any thread. */
int storage_add(struct storage *storage, const struct trace_config *config, struct trace **ret);
