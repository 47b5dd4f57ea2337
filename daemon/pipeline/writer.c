// SPDX-License-Identifier: GPL-2.0-or-later
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "cells.h"
#include "cleanup.h"
#include "clocks.h"
#include "format_csv.h"
#include "log.h"
#include "mailbox.h"
#include "manifest.h"
#include "queue.h"
#include "schema.h"
#include "sink.h"

#define BATCH_ROWS	 1024
#define WAKE_BYTES	 (512 * 1024) /* queued in one drain: too much to wait for its end */
#define FLUSH_NS	 200000000ULL
#define MEASURE_NS	 1000000000ULL
#define OFFSET_NOISE_NS	 1000 /* a smaller change of the clocks' offset is the measurement's */
#define RETRY_MS	 1000 /* for a manifest that could not be written */
#define HASH_AT_ROTATION (16 * 1024 * 1024) /* bytes hashed before the caller gets its answer */

/* Of one stream; the counters have one writing thread each. */
struct writer_stream {
	struct sink sink;
	struct format_csv csv;
	bool failing; /* the log has been told */
	_Atomic uint64_t received; /* consumer thread */
	_Atomic uint64_t lost_queue;
	_Atomic uint64_t emitted; /* main thread */
	_Atomic uint64_t lost_ring;
	_Atomic uint64_t lost_unmatched;
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

static void count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

void writer_queue_row(struct writer *writer, const struct row *row)
{
	enum iotr_stream stream = row->record->stream;

	if (!(writer->mask & 1U << stream))
		return;
	count(&writer->streams[stream].received);
	if (!queue_push(&writer->queue, row))
		count(&writer->streams[stream].lost_queue);
	if (queue_unannounced(&writer->queue) >= WAKE_BYTES)
		queue_wake(&writer->queue);
}

void writer_queue_wake(struct writer *writer)
{
	queue_wake(&writer->queue);
}

static void write_row(struct writer *writer, const struct row *row)
{
	struct writer_stream *stream = &writer->streams[row->record->stream];
	struct cell cell[CELLS_MAX];
	char *line = sink_reserve(&stream->sink, format_csv_bound(row));
	size_t columns = cells_fill(&writer->cells, row, cell);
	size_t length = format_csv_row(&stream->csv, cell, columns, line);

	sink_commit(&stream->sink, length, row->record->start_ns);
	if (writer->tap)
		writer->tap(stream->sink.stream, line, length, writer->tap_userdata);
}

static size_t write_batch(struct writer *writer)
{
	struct row row;
	size_t rows = 0;

	while (rows < BATCH_ROWS && queue_front(&writer->queue, &row)) {
		write_row(writer, &row);
		queue_pop(&writer->queue);
		rows++;
	}
	return rows;
}

/* Says once when writing fails, and once when it goes on. */
static void note_error(struct writer *writer, struct writer_stream *stream)
{
	const char *flag = iotr_schemas[stream->sink.stream].flag;
	int error = atomic_load_explicit(&stream->sink.error, memory_order_relaxed);

	if (!error == !stream->failing)
		return;
	stream->failing = error;
	if (error)
		log_error("%s: rows of %s cannot be written: %s", writer->output, flag,
			  strerror(-error));
	else
		log_notice("%s: rows of %s are written again; %llu were lost", writer->output, flag,
			   (unsigned long long)atomic_load(&stream->sink.lost));
}

static void flush(struct writer *writer, uint64_t now)
{
	writer->flush_at = 0;
	FOR_EACH_STREAM (writer, stream) {
		sink_flush(&stream->sink);
		note_error(writer, stream);
		if (stream->sink.used)
			writer->flush_at = now + FLUSH_NS;
	}
}

static void flush_when_due(struct writer *writer, size_t new_rows)
{
	uint64_t now;

	if (!new_rows && !writer->flush_at)
		return;
	now = clocks_mono_ns();
	if (!writer->flush_at)
		writer->flush_at = now + FLUSH_NS;
	else if (now >= writer->flush_at)
		flush(writer, now);
}

/* The wall clock is set and slewed while we run. */
static void measure_clocks(struct writer *writer)
{
	struct clocks clocks;
	int64_t moved;

	if (clocks_mono_ns() - writer->clocks.mono_ns < MEASURE_NS)
		return;
	clocks = clocks_measure();
	moved = clocks.offset_ns - writer->clocks.offset_ns;
	if (moved > -OFFSET_NOISE_NS && moved < OFFSET_NOISE_NS)
		clocks.offset_ns = writer->clocks.offset_ns;
	writer->clocks = clocks;
	writer->cells.realtime_offset = clocks.offset_ns;
}

static int write_manifest(struct writer *writer)
{
	struct manifest_stream streams[IOTR_STREAM_COUNT] = { 0 };
	struct manifest_state state = {
		.streams = streams,
		.clocks = writer->clocks,
		.reason = writer->reason[0] ? writer->reason : NULL,
	};
	int error;

	FOR_EACH_STREAM (writer, stream)
		streams[stream->sink.stream] = (struct manifest_stream){
			.sink = &stream->sink,
			.emitted = atomic_load(&stream->emitted),
			.received = atomic_load(&stream->received),
			.lost_ring = atomic_load(&stream->lost_ring),
			.lost_queue = atomic_load(&stream->lost_queue),
			.lost_unmatched = atomic_load(&stream->lost_unmatched),
		};
	error = manifest_write(&writer->manifest, &state);
	writer->manifest_due = error < 0;
	return error;
}

/* One piece of hashing, of whichever stream has one. */
static bool hash(struct writer *writer)
{
	FOR_EACH_STREAM (writer, stream)
		if (sink_hash(&stream->sink))
			return true;
	return false;
}

static void hash_some(struct writer *writer, size_t bytes)
{
	while (bytes >= SEGMENT_HASH_CHUNK && hash(writer))
		bytes -= SEGMENT_HASH_CHUNK;
}

/* Whether a closed segment has no hash yet. */
static bool hashes_missing(struct writer *writer)
{
	FOR_EACH_STREAM (writer, stream)
		if (stream->sink.unhashed && stream->sink.unhashed->closed &&
		    stream->sink.unhashed->fd >= 0)
			return true;
	return false;
}

static int timeout_ms(const struct writer *writer)
{
	uint64_t now = clocks_mono_ns();

	if (writer->flush_at)
		return now < writer->flush_at ? (int)((writer->flush_at - now) / 1000000) + 1 : 0;
	return writer->manifest_due ? RETRY_MS : -1;
}

static void wait(struct writer *writer)
{
	struct pollfd pollfd = { .fd = writer->eventfd, .events = POLLIN };
	eventfd_t value;

	if (!queue_idle(&writer->queue))
		return;
	if (poll(&pollfd, 1, timeout_ms(writer)) > 0)
		eventfd_read(writer->eventfd, &value);
}

/* No rows: time for what can wait. */
static void rest(struct writer *writer)
{
	if (hash(writer))
		return;
	if (writer->manifest_due && !hashes_missing(writer))
		write_manifest(writer);
	wait(writer);
}

static void *run(void *argument)
{
	struct writer *writer = argument;
	struct timespec used;

	while (!writer->ended) {
		size_t rows;

		measure_clocks(writer);
		rows = write_batch(writer);
		flush_when_due(writer, rows);
		mailbox_serve(&writer->mailbox, writer);
		if (!rows && !writer->ended)
			rest(writer);
	}
	if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used))
		atomic_store(&writer->cpu_ns,
			     (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec);
	return NULL;
}

static int start_manifest(struct writer *writer, const struct writer_config *config)
{
	struct manifest_config manifest = {
		.folder_fd = writer->output_fd,
		.streams = writer->mask,
		.session = config->session,
		.level = config->level,
		.definition = config->definition,
		.hooks = config->hooks,
		.owner_uid = config->owner_uid,
		.start = writer->clocks,
	};
	int error = manifest_init(&writer->manifest, &manifest);

	return error < 0 ? error : write_manifest(writer);
}

static int open_sinks(struct writer *writer)
{
	int error = 0;

	FOR_EACH_STREAM (writer, stream) {
		format_csv_init(&stream->csv);
		error = sink_init(&stream->sink, writer->output_fd,
				  (enum iotr_stream)(stream - writer->streams));
		if (error < 0)
			return error;
	}
	return 0;
}

static int open_writer(struct writer *writer, const struct writer_config *config)
{
	int error;

	snprintf(writer->output, sizeof(writer->output), "%s", config->output);
	writer->output_fd = fcntl(config->output_fd, F_DUPFD_CLOEXEC, 0);
	writer->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (writer->output_fd < 0 || writer->eventfd < 0)
		return -errno;
	error = queue_init(&writer->queue, config->queue_size ? config->queue_size : QUEUE_SIZE,
			   writer->eventfd);
	if (error < 0)
		return error;
	writer->clocks = clocks_measure();
	writer->cells.realtime_offset = writer->clocks.offset_ns;
	return open_sinks(writer) ?: start_manifest(writer, config);
}

/* Signals are for the main thread. */
static int start_thread(struct writer *writer)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&writer->thread, NULL, run, writer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	writer->started = !error;
	return -error;
}

int writer_new(const struct writer_config *config, struct writer **ret)
{
	struct writer *writer = aligned_alloc(_Alignof(struct writer), sizeof(*writer));
	int error;

	if (!writer)
		return -ENOMEM;
	memset(writer, 0, sizeof(*writer));
	writer->output_fd = -1;
	writer->eventfd = -1;
	writer->mask = config->streams;
	cells_init(&writer->cells);
	error = open_writer(writer, config);
	mailbox_init(&writer->mailbox, writer->eventfd);
	if (!error)
		error = start_thread(writer);
	if (error < 0) {
		writer_free(writer);
		return error;
	}
	*ret = writer;
	return 0;
}

void writer_free(struct writer *writer)
{
	if (!writer)
		return;
	if (writer->started)
		writer_stop(writer, "stopped", NULL);
	FOR_EACH_STREAM (writer, stream)
		sink_done(&stream->sink);
	manifest_done(&writer->manifest);
	mailbox_done(&writer->mailbox);
	queue_done(&writer->queue);
	if (writer->eventfd >= 0)
		close(writer->eventfd);
	if (writer->output_fd >= 0)
		close(writer->output_fd);
	free(writer);
}

static void add_path(const struct writer *writer, struct writer_paths *paths,
		     const struct sink *sink, const struct segment *segment)
{
	char **path = paths ? &paths->paths[sink->stream] : NULL;

	if (path && asprintf(path, "%s/%s/%s", writer->output, iotr_schemas[sink->stream].folder,
			     segment->name) < 0)
		*path = NULL;
}

void writer_paths_done(struct writer_paths *paths)
{
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		free(paths->paths[stream]);
		paths->paths[stream] = NULL;
	}
}

static int rotate(void *owner, void *argument)
{
	struct writer *writer = owner;
	const struct segment *closed;
	int result = 0, error;

	FOR_EACH_STREAM (writer, stream) {
		error = sink_rotate(&stream->sink, &closed);
		note_error(writer, stream);
		if (closed)
			add_path(writer, argument, &stream->sink, closed);
		result = result ?: error;
	}
	hash_some(writer, HASH_AT_ROTATION);
	error = write_manifest(writer);
	writer->manifest_due |= hashes_missing(writer);
	return result ?: error;
}

int writer_rotate(struct writer *writer, struct writer_paths *paths)
{
	memset(paths, 0, sizeof(*paths));
	return writer->stopped ? -ESHUTDOWN : mailbox_call(&writer->mailbox, rotate, paths);
}

static void close_sinks(struct writer *writer, struct writer_paths *paths)
{
	FOR_EACH_STREAM (writer, stream) {
		sink_close(&stream->sink);
		note_error(writer, stream);
		if (stream->sink.segment->closed)
			add_path(writer, paths, &stream->sink, stream->sink.segment);
	}
}

struct stop {
	const char *reason;
	struct writer_paths *paths;
};

static int stop(void *owner, void *argument)
{
	struct writer *writer = owner;
	const struct stop *how = argument;

	while (write_batch(writer))
		measure_clocks(writer);
	writer->clocks = clocks_measure();
	snprintf(writer->reason, sizeof(writer->reason), "%s", how->reason);
	close_sinks(writer, how->paths);
	hash_some(writer, SIZE_MAX);
	writer->ended = true;
	return write_manifest(writer);
}

int writer_stop(struct writer *writer, const char *reason, struct writer_paths *paths)
{
	struct stop how = { reason, paths };
	int error;

	if (paths)
		memset(paths, 0, sizeof(*paths));
	if (writer->stopped)
		return 0;
	error = mailbox_call(&writer->mailbox, stop, &how);
	pthread_join(writer->thread, NULL);
	writer->stopped = true;
	return error;
}

void writer_report(struct writer *writer, enum iotr_stream stream, uint64_t emitted,
		   uint64_t lost_ring, uint64_t lost_unmatched)
{
	atomic_store(&writer->streams[stream].emitted, emitted);
	atomic_store(&writer->streams[stream].lost_ring, lost_ring);
	atomic_store(&writer->streams[stream].lost_unmatched, lost_unmatched);
}

void writer_counts(const struct writer *writer, enum iotr_stream stream,
		   struct writer_counts *counts)
{
	const struct writer_stream *of = &writer->streams[stream];

	*counts = (struct writer_counts){
		.received = atomic_load(&of->received),
		.lost_queue = atomic_load(&of->lost_queue),
		.written = atomic_load(&of->sink.written),
		.bytes = atomic_load(&of->sink.bytes),
		.lost_disk = atomic_load(&of->sink.lost),
		.segments = atomic_load(&of->sink.segment_count),
		.error = atomic_load(&of->sink.error),
	};
}

uint64_t writer_cpu_ns(const struct writer *writer)
{
	struct timespec used;
	clockid_t clock;

	if (writer->stopped)
		return atomic_load(&writer->cpu_ns);
	if (pthread_getcpuclockid(writer->thread, &clock) || clock_gettime(clock, &used) < 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

struct tap {
	writer_tap tap;
	void *userdata;
};

static int set_tap(void *owner, void *argument)
{
	struct writer *writer = owner;
	const struct tap *tap = argument;

	writer->tap = tap->tap;
	writer->tap_userdata = tap->userdata;
	return 0;
}

void writer_tap_set(struct writer *writer, writer_tap tap, void *userdata)
{
	struct tap argument = { tap, userdata };

	if (!writer->stopped)
		mailbox_call(&writer->mailbox, set_tap, &argument);
}
