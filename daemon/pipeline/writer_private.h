/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What writer.c, which other threads call, and writer_thread.c, which runs on the writer's own,
 * share.
 */
#pragma once

#include <limits.h>
#include <stdatomic.h>

#include "cells.h"
#include "clocks.h"
#include "format_csv.h"
#include "mailbox.h"
#include "manifest.h"
#include "queue.h"
#include "sink.h"
#include "writer.h"

/* Of one stream; the counters have one writing thread each. */
struct writer_stream {
	struct sink sink;
	struct format_csv csv;
	bool failing;		   /* the log has been told */
	_Atomic uint64_t received; /* consumer thread */
	_Atomic uint64_t lost_queue;
	_Atomic uint64_t emitted; /* main thread */
	_Atomic uint64_t lost_ring;
	_Atomic uint64_t lost_unmatched;
	_Atomic uint64_t missed;
};

struct writer {
	struct queue queue;
	struct mailbox mailbox;
	struct writer_stream streams[IOTR_STREAM_COUNT];
	uint32_t mask; /* streams that it has */
	char output[PATH_MAX];
	int output_fd;
	int eventfd;
	pthread_t thread;
	bool started;
	bool stopped;
	/* The writer thread's. */
	struct cells cells;
	struct clocks clocks;
	struct manifest manifest;
	bool manifest_due; /* it could not be written, or hashes are missing */
	uint64_t flush_at; /* 0: nothing is buffered */
	writer_tap tap;
	void *tap_userdata;
	char reason[64];
	bool ended;
	_Atomic uint64_t cpu_ns; /* of the thread after its end */
};

#define FOR_EACH_STREAM(writer, stream)                                                            \
	for (struct writer_stream *stream = (writer)->streams;                                     \
	     stream < (writer)->streams + IOTR_STREAM_COUNT; stream++)                             \
		if ((writer)->mask & 1U << (stream - (writer)->streams))

/* The thread; the argument is the writer. */
void *writer_run(void *argument);

int writer_write_manifest(struct writer *writer);

/* Work for the mailbox. */
struct writer_stop_how {
	const char *reason;
	struct writer_paths *paths;
};

struct writer_tap_how {
	writer_tap tap;
	void *userdata;
};

int writer_do_rotate(void *writer, void *paths);
int writer_do_stop(void *writer, void *how);
int writer_do_tap(void *writer, void *how);
int writer_do_snapshots(void *writer, void *snapshots);
