/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer of one session: a queue that the router fills, and a thread that formats its rows
 * into the segments of each stream and keeps manifest.json.
 *
 * Threads: all functions of this header are for the main thread, except writer_queue_*(), which
 * the router calls on the consumer thread. Rotation and stop are done by the writer thread between
 * two batches of rows. The disk may hold it up for long: writer_rotate_begin() and
 * writer_stop_begin() do not wait for it, and have a handler called from writer_collect().
 * Signals are blocked in the thread.
 *
 * A row is in its file 200 ms after it came at the latest. Where the file cannot be written (a
 * full disk), rows wait in the buffer, then are lost and counted; the file has only whole rows,
 * and rows flow again when there is room.
 *
 * Limits: rows and bytes count once they are in a file. The row that would exceed a limit, and all
 * after it, are not of the session: they are in no count but writer_refused(). The writer then
 * wakes the main thread, which is to stop it.
 *
 * A manifest that cannot be written is tried again each second, also after the stop; until then
 * the thread lives on, see writer_finished().
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgroups/list.h"
#include "record.h"
#include "rights.h"
#include "row.h"
#include "session_spec.h"

struct queue_run;
struct writer;

struct writer_config {
	const char *output; /* absolute path of the folder, for answers */
	struct trace *trace; /* of the folder, the writer's from now on; may be NULL */
	const struct rights *rights; /* with which its files are made, copied; NULL: the daemon's own */
	int output_fd;	    /* from output_create(); the writer keeps a copy of its own */
	bool own_folder;    /* made for the session, and removed when the session is discarded */
	uint32_t streams;   /* bit per enum iotr_stream */
	size_t queue_size;  /* bytes, 0: QUEUE_SIZE; memory is used as the queue fills */
	int nice;	    /* of its thread; 0: that of the caller */
	enum iotr_format format;
	uint64_t max_size;	     /* bytes of all files; 0: no limit, as for the next three */
	uint64_t max_events;	     /* rows of all streams */
	uint64_t rotate_size;	     /* bytes of a segment */
	uint64_t rotate_interval_ns; /* from the start on, by CLOCK_MONOTONIC */
	/*
	 * An eventfd, kept by the caller, that is signalled when writer_collect(), writer_limit()
	 * and writer_finished() are to be called. 0: none.
	 */
	int notice;
	/* Further contents of the manifest; the objects are copied, and may be NULL. */
	const char *session;
	const char *level;
	struct json_object *definition;
	struct json_object *hooks;
	uint32_t owner_uid;
	const uint8_t *anonymize_key; /* IOTR_ANONYMIZE_KEY_SIZE bytes, copied; NULL: names stay in the clear */
};

/*
 * Creates the first segment of every stream and the manifest, which waits for the disk, and starts
 * the thread. Nothing is left in the folder on an error. Any thread.
 */
int writer_new(const struct writer_config *config, struct writer **ret);

/* Stops first where that has not been done. Takes NULL. */
void writer_free(struct writer *writer);

/* Absolute paths of segments that were closed; a stream without one has NULL. */
struct writer_paths {
	char *paths[IOTR_STREAM_COUNT];
};

void writer_paths_done(struct writer_paths *paths);

/* Called once from writer_collect(). The paths are valid until it returns. */
typedef void (*writer_handler)(int result, const struct writer_paths *paths, void *userdata);

/*
 * Ends the segments of all streams at one instant, except for those without rows; the next row
 * begins a new one. On an error no segment has ended, and rows go on into the open ones.
 * -ESHUTDOWN: it is stopping; the handler is not called.
 */
int writer_rotate_begin(struct writer *writer, writer_handler handler, void *userdata);

/*
 * Writes all rows that were queued, closes the segments, finishes the manifest with `reason`
 * ("stopped", "duration", ...), which must stay valid. The router must have detached it. The result
 * is that of the manifest. Only the first call does anything.
 */
int writer_stop_begin(struct writer *writer, const char *reason, writer_handler handler,
		      void *userdata);

/* The same for a session that is discarded: what it wrote is removed. */
int writer_discard_begin(struct writer *writer, writer_handler handler, void *userdata);

/* Calls the handlers of rotations, stops and snapshots that are done. */
void writer_collect(struct writer *writer);

/* After its stop: all is written, or was given up. writer_free() does not wait then. */
bool writer_finished(const struct writer *writer);

/* Waits for the end after writer_stop_begin(); a manifest for which there is no room is given up. */
void writer_finish(struct writer *writer);

/*
 * Like writer_finish(), until `until_ns` (CLOCK_MONOTONIC), or until nothing has moved for ten seconds. False:
 * its disk does not answer. Then the thread is left running, and the writer is not to be used any more, nor
 * freed.
 */
bool writer_finish_until(struct writer *writer, uint64_t until_ns);

/* Like writer_rotate_begin() and writer_stop_begin(), but they wait. */
int writer_rotate(struct writer *writer, struct writer_paths *paths);
int writer_stop(struct writer *writer, const char *reason, struct writer_paths *paths);

/* Which limit was reached, "max-size" or "max-events", or NULL. */
const char *writer_limit(const struct writer *writer);
/* Sets the session's definition, which is copied, from now on; the manifest has it soon. -ENOMEM. */
int writer_redefine(struct writer *writer, struct json_object *definition);

/* What the probes know of a stream since the session began. */
struct writer_probes {
	uint64_t emitted;
	uint64_t ring, unmatched; /* lost rows */
	uint64_t missed;	  /* programs that were left out: see probes_missed() */
	uint64_t unfollowed;	  /* processes of the session for which there was no room to follow them */
	uint64_t forgotten;	  /* of block: see control_page_forgotten() */
};

/* Sets counts for the manifest: call before a rotation and the stop. */
void writer_report(struct writer *writer, enum iotr_stream stream, const struct writer_probes *probes);

/*
 * Sets the snapshots in the manifest, which is written anew; takes ownership of the array. With a handler,
 * which may be NULL, it is written at once, and the handler is called afterwards. A negative errno: the
 * manifest does not have them, and no handler is called.
 */
int writer_snapshots(struct writer *writer, struct json_object *list, writer_handler handler, void *userdata);

/*
 * Writes the table of cgroups anew; takes ownership of the list. The `last` one makes the file whole, and lists it in the
 * manifest; when it cannot be written, the one before it stays, and is listed as incomplete. A negative errno: it is not
 * written, and no handler, which may be NULL, is called.
 */
int writer_cgroups(struct writer *writer, struct cgroup_list *list, bool last, writer_handler handler, void *userdata);

/*
 * Sets a member of the manifest, which is written anew, about what the session did not record: "missing", "gaps". The
 * key must stay valid; the value is copied. Any thread.
 */
void writer_tell(struct writer *writer, const char *key, struct json_object *value);

/*
 * Looks at what was lost since the last look, logs it, and has the manifest written with it; called about once
 * a second, so that losses have a time. The last look is at the stop.
 */
void writer_look(struct writer *writer);

/*
 * How often its thread has gone round. False: it need not go on, as no rows wait for it, or works, and may wait for its disk as
 * long as that takes.
 */
bool writer_turns(const struct writer *writer, uint64_t *turns);

/* At most so many of the latest losses: see losses_describe(). */
struct json_object *writer_losses(const struct writer *writer, size_t most);

struct writer_counts {
	uint64_t received;   /* rows from the router, without those refused */
	uint64_t lost_queue; /* because the writer was too slow */
	uint64_t lost_names; /* rows that are there, but lack a name */
	uint64_t written;    /* rows in files */
	uint64_t bytes;	     /* that they take, headers not included */
	uint64_t lost_disk;  /* rows that could not be written, or because it did not answer */
	uint64_t segments;   /* begun */
	int error;	     /* negative errno of the last write when it failed, otherwise 0 */
	uint64_t refused;    /* rows after a limit */
	uint64_t removed;    /* of the written ones: in segments that were removed */
};

void writer_counts(const struct writer *writer, enum iotr_stream stream,
		   struct writer_counts *counts);

/* Adds to the description of a stream which limits removed how much of it: see removal.h. */
void writer_describe_removed(const struct writer *writer, enum iotr_stream stream, struct json_object *description);

/* Rows that came after a limit was reached: the probes counted them, the session does not. */
uint64_t writer_refused(const struct writer *writer, enum iotr_stream stream);

/* When the disk did not take rows, oldest first: new array of {from, to, error, lost}. */
struct json_object *writer_disk_errors(const struct writer *writer);

/* Why the manifest could not be written when last tried, as a negative errno, or 0. */
int writer_manifest_error(const struct writer *writer);

/* CPU time that the writer thread has used. */
uint64_t writer_cpu_ns(const struct writer *writer);

/*
 * A live view: called on the writer thread with each row that is written: the texts of its columns, each with
 * a NUL behind it, `size` bytes in all. When this returns, the one before is no longer called. NULL takes it away.
 */
typedef void (*writer_tap)(enum iotr_stream stream, const char *fields, size_t size, void *userdata);
void writer_tap_set(struct writer *writer, writer_tap tap, void *userdata);

/* Whether the next row will find room, for a producer that can wait instead of losing it. */
bool writer_queue_has_room(struct writer *writer);

/* Whether rows of several such sessions have the same line: CSV in the clear. Any thread. */
bool writer_takes_lines(const struct writer *writer);

/* Consumer thread: queues a row (lost and counted when the queue is full), and wakes the writer after many. */
void writer_queue_row(struct writer *writer, const struct row *row);

/* The same with rows that it shares with other sessions, if writer_takes_lines(). */
void writer_queue_run(struct writer *writer, const struct queue_run *run);
void writer_queue_wake(struct writer *writer);
