/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer of one session: a queue that the router fills, and a thread that formats its rows
 * into the segments of each stream and keeps manifest.json.
 *
 * Threads: all functions of this header are for the main thread, except writer_queue_*(), which
 * the router calls on the consumer thread. Calls that need the writer thread (rotate, tap, stop)
 * are done between two batches of rows, and return when done. Signals are blocked in the thread.
 *
 * A row is in its file 200 ms after it came at the latest. Where the file cannot be written (a
 * full disk), rows wait in the buffer, then are lost and counted; the file has only whole rows,
 * and rows flow again when there is room. SHA-256 of the segments is computed as they are written
 * while the writer keeps up, else when it has nothing else to do, and at the stop what is left.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"
#include "row.h"

struct writer;

struct writer_config {
	const char *output; /* absolute path of the folder, for answers */
	int output_fd;	    /* from output_create(); the writer keeps a copy of its own */
	uint32_t streams;   /* bit per enum iotr_stream */
	size_t queue_size;  /* bytes, 0: 16 MiB; memory is used as the queue fills */
	/* What the manifest tells besides; the objects are copied, and may be NULL. */
	const char *session;
	const char *level;
	struct json_object *definition;
	struct json_object *hooks;
	uint32_t owner_uid;
};

/* Creates the first segment of every stream and the manifest, and starts the thread. */
int writer_new(const struct writer_config *config, struct writer **ret);

/* Stops first where that has not been done. Takes NULL. */
void writer_free(struct writer *writer);

/* Absolute paths of segments that were closed; a stream without one has NULL. */
struct writer_paths {
	char *paths[IOTR_STREAM_COUNT];
};

void writer_paths_done(struct writer_paths *paths);

/*
 * New segments for all streams at one instant, except for those that have no row yet in theirs.
 * On an error the streams that could not begin a new one stay with theirs; `paths` is valid.
 */
int writer_rotate(struct writer *writer, struct writer_paths *paths);

/*
 * Writes all rows that were queued, closes the segments, finishes the manifest with `reason`
 * ("stopped", "duration", ...) and ends the thread. The router must have detached it. The error
 * is that of the last manifest. Calling again does nothing.
 */
int writer_stop(struct writer *writer, const char *reason, struct writer_paths *paths);

/* What the probes know of a stream since the session began. */
struct writer_probes {
	uint64_t emitted;
	uint64_t ring, unmatched; /* lost rows */
	uint64_t missed;	  /* programs that were left out: see probes_missed() */
};

/* For the manifest: call before a rotation and the stop. */
void writer_report(struct writer *writer, enum iotr_stream stream, const struct writer_probes *probes);

/* For the manifest, which is written anew: takes ownership of the array. */
void writer_snapshots(struct writer *writer, struct json_object *snapshots);

struct writer_counts {
	uint64_t received;   /* rows from the router */
	uint64_t lost_queue; /* because the writer was too slow */
	uint64_t written;    /* rows in files */
	uint64_t bytes;	     /* that they take, headers not included */
	uint64_t lost_disk;  /* rows that could not be written */
	uint64_t segments;   /* begun */
	int error;	     /* negative errno of the last write when it failed, else 0 */
};

void writer_counts(const struct writer *writer, enum iotr_stream stream,
		   struct writer_counts *counts);

/* CPU time that the writer thread has used. */
uint64_t writer_cpu_ns(const struct writer *writer);

/*
 * A live view: called on the writer thread with each row as written, its line end included. When
 * this returns, the one before is no longer called. NULL takes it away.
 */
typedef void (*writer_tap)(enum iotr_stream stream, const char *row, size_t size, void *userdata);
void writer_tap_set(struct writer *writer, writer_tap tap, void *userdata);

/* Consumer thread: a row for the queue (lost and counted when that is full); the wake-up after
 * many. */
void writer_queue_row(struct writer *writer, const struct row *row);
void writer_queue_wake(struct writer *writer);
