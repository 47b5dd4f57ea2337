/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the writer's sources share. Other threads call writer_intake.c (consumer thread: rows into the queue),
 * writer_orders.c (main thread: what is to be done, and its end), writer_counts.c (any: what is known) and writer.c
 * (its life). The writer's own thread runs the others, each made of those after it:
 *
 *   writer_thread.c     the loop
 *   writer_mails.c      what it does of the main thread's orders
 *   writer_rows.c       rows from the queue to the sinks
 *   writer_manifest.c   the manifest
 *   writer_cgroups.c    the table of cgroups
 *   writer_rotate.c     segments, and the limits of a session
 *   writer_counts.c, writer_disk.c   what was lost, and what the disk did not take: for any thread
 */
#pragma once

#include <limits.h>
#include <stdatomic.h>

#include "cells/cells.h"
#include "cells/cells_anonymize.h"
#include "cgroups/list.h"
#include "clocks.h"
#include "format.h"
#include "losses.h"
#include "mailbox.h"
#include "manifest.h"
#include "queue.h"
#include "sink.h"
#include "writer.h"

enum {
	WRITER_DISK_ERRORS = 32, /* that are remembered one by one */
};

#define WRITER_FLUSH_NS 200000000ULL

#define WRITER_LINE 64 /* bytes of a line of the processor's cache: what two threads write is not in the same one */

/* Of one stream; the counters have one writing thread each. */
struct writer_stream {
	struct sink sink;
	union format_state *format;
	bool failing;			/* that rows cannot be written has been logged */
	_Atomic uint64_t dropped;	/* rows that were queued when a limit was reached */
	_Atomic uint64_t lost_seen;	/* lost_queue when the thread last made progress */
	_Atomic uint64_t lost_stalled;	/* of lost_queue: because the disk did not answer */
	/* The consumer thread's. */
	_Alignas(WRITER_LINE) _Atomic uint64_t received; /* rows of the session */
	_Atomic uint64_t refused;	/* rows after a limit */
	_Atomic uint64_t lost_queue;	/* rows lost as the queue was full, for any reason */
	_Atomic uint64_t lost_names;	/* rows that are there, but not all of their names */
	/* The main thread's. */
	_Alignas(WRITER_LINE) _Atomic uint64_t emitted;
	_Atomic uint64_t lost_ring;
	_Atomic uint64_t lost_unmatched;
	_Atomic uint64_t missed;
	_Atomic uint64_t unfollowed;
	_Atomic uint64_t forgotten;
};

/* A time in which the disk took no rows. */
struct writer_disk_error {
	uint64_t from_realtime_ns;
	uint64_t to_realtime_ns; /* 0: it lasts */
	int error;		 /* negative errno; 0: the disk did not answer */
	uint64_t lost;		 /* rows */
};

struct writer_disk {
	pthread_mutex_t lock; /* of the list; never held while the disk is waited for */
	struct writer_disk_error errors[WRITER_DISK_ERRORS];
	size_t count; /* the last one may still last */
	bool failing;	/* writer thread: the last one still lasts */
	struct writer_disk_error stall; /* writer thread: the stall that lasts; from_realtime_ns 0: none */
	uint64_t told;	/* rows lost by refusal, in the errors that are over */
	_Atomic uint64_t progress_ns; /* CLOCK_MONOTONIC: the thread's last progress; 0: it waits for rows */
};

struct writer {
	struct queue queue;
	struct mailbox mailbox;

	struct writer_stream streams[IOTR_STREAM_COUNT];
	/* Read by the consumer thread for each row: among what stays as it is. */
	_Alignas(WRITER_LINE) uint32_t mask; /* streams that it has */
	_Atomic(const char *) limit; /* that was reached: the reason of the end; NULL: none */
	bool takes_lines; /* its rows are CSV in the clear */
	const struct format *format;
	struct trace *trace;
	uint64_t max_size, max_events, rotate_size, rotate_interval_ns; /* 0: none */
	char output[PATH_MAX];
	int output_fd;
	bool own_folder; /* removed with what it wrote, if the session is discarded */
	struct rights rights;
	int eventfd;
	int nice; /* 0: that of the thread that made it */
	pthread_t thread;
	bool started;
	bool stopping; /* main thread: asked to */
	bool stopped;  /* main thread: joined */
	_Atomic bool abandoned;	     /* the manifest is not tried again */
	_Atomic bool finished;	     /* the thread is at its end */
	_Atomic int manifest_error;  /* of the last try */
	pthread_mutex_t tap_lock;
	writer_tap tap;
	void *tap_userdata;
	_Atomic bool tapped;
	/* The writer thread's. */
	_Alignas(WRITER_LINE) struct extent extent;
	struct cells cells;
	struct cells_anonymizer *anonymizer; /* NULL: names stay in the clear */
	struct clocks started_at;
	struct clocks_span clock; /* of the row in hand */
	struct manifest manifest;
	struct writer_disk disk;
	struct losses *losses;
	_Atomic uint64_t turns; /* of the thread */
	_Atomic bool losses_due; /* there are losses that the manifest does not have */
	bool manifest_due;  /* it could not be written, or has become stale */
	uint64_t flush_at;  /* 0: nothing is buffered */
	uint64_t rotate_at; /* by time; 0: never */
	uint64_t retry_at;  /* before that, a rotation that failed is not tried again */
	char reason[64];
	bool ended;
	_Atomic uint64_t cpu_ns; /* of the thread after its end */
};

#define FOR_EACH_STREAM(writer, stream)                                                            \
	for (struct writer_stream *stream = (writer)->streams;                                     \
	     stream < (writer)->streams + IOTR_STREAM_COUNT; stream++)                             \
		if ((writer)->mask & 1U << (stream - (writer)->streams))

/* ---- writer_thread.c ---- */

/* The thread; the argument is the writer. */
void *writer_run(void *argument);

/* ---- writer_rows.c ---- */

/* Writes rows that wait in the queue, up to a batch, and returns how many. */
size_t writer_write_batch(struct writer *writer);

/* ---- writer_manifest.c ---- */

int writer_write_manifest(struct writer *writer);

/* When a manifest that is due may be written, CLOCK_MONOTONIC; and writes it then. */
uint64_t writer_manifest_at(const struct writer *writer);
void writer_write_manifest_when_due(struct writer *writer, uint64_t now);

/* ---- writer_rotate.c ---- */

/* Writes what is buffered; the error of the first stream that fails. */
int writer_flush(struct writer *writer);

/* Whether rows are buffered. */
bool writer_has_rows(struct writer *writer);

/* Ends all segments that have rows, at one instant; none when rows cannot be written. */
int writer_cut_all(struct writer *writer, struct writer_paths *paths);

/* Whether the row may be written; false: it ends the session, which it does not belong to. */
bool writer_within_limits(struct writer *writer, const struct sink *sink, size_t size);

/* Ends the session if the row was the last that max_events allows. */
void writer_check_rows(struct writer *writer);

/* Makes sure that the row fits into its stream's segment. False: it is lost. */
bool writer_make_room(struct writer *writer, const struct sink *sink, size_t size);

void writer_rotate_when_due(struct writer *writer, uint64_t now);

/* Ends all segments for good; what cannot be written is lost. */
void writer_close_all(struct writer *writer, struct writer_paths *paths);

/* Removes what it wrote. For the writer thread, or when it does not run. */
void writer_remove(struct writer *writer);

/* ---- writer_disk.c ---- */

void writer_disk_init(struct writer_disk *disk);
void writer_disk_done(struct writer_disk *disk);

/* Writer thread: notes progress; or that it waits for rows. */
void writer_disk_progress(struct writer *writer, uint64_t now);
void writer_disk_idle(struct writer *writer);

/* Writer thread: logs when writing fails and when it works again, once each. */
void writer_disk_note(struct writer *writer);

/* Any thread: how long nothing has moved although there is work; 0: less than a second. */
uint64_t writer_disk_stalled_ns(const struct writer *writer);

/* Any thread: rows that were lost in the queue, and on the disk. */
void writer_disk_counts(const struct writer *writer, const struct writer_stream *stream,
			uint64_t *lost_queue, uint64_t *lost_disk);

/* ---- writer_counts.c ---- */

/* What was lost by now, for losses_look(). */
void writer_read_losses(struct losses_counts *counts, void *writer);

/* ---- writer_mails.c ---- */

/* Work that the main thread hands over; each kind has its own members. */
struct writer_mail {
	struct mail mail;
	writer_handler handler; /* for rotation, stop and snapshots; NULL: the caller waits, or needs no answer */
	void *userdata;
	struct writer_paths paths; /* result of rotation and stop */
	const char *reason;	   /* for the stop */
	const char *key;	   /* of a member of the manifest */
	struct json_object *object; /* a definition, a list of snapshots, or that member; NULL once taken */
	struct clocks clocks;	    /* when a definition began to hold */
	struct cgroup_list *cgroups;
	bool last; /* of several such lists */
};

int writer_do_rotate(void *writer, struct mail *mail);
int writer_do_snapshots(void *writer, struct mail *mail);
int writer_do_tell(void *writer, struct mail *mail);
int writer_do_cgroups(void *writer, struct mail *mail); /* writer_cgroups.c */
int writer_do_redefine(void *writer, struct mail *mail);
int writer_do_stop(void *writer, struct mail *mail);
int writer_do_discard(void *writer, struct mail *mail);
