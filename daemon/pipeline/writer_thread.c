// SPDX-License-Identifier: GPL-2.0-or-later
#include "writer_private.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "log.h"
#include "schema.h"

#define BATCH_ROWS	 1024
#define BUSY_SHARE	 4 /* a queue filled to that part of it is busy */
#define FLUSH_NS	 200000000ULL
#define MEASURE_NS	 1000000000ULL
#define OFFSET_NOISE_NS	 1000 /* a smaller change of the clocks' offset is the measurement's */
#define RETRY_MS	 1000 /* for a manifest that could not be written */
#define HASH_AT_ROTATION (16 * 1024 * 1024) /* bytes hashed before the caller gets its answer */

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

/* Hashing waits while the queue fills. */
static void choose_hashing(struct writer *writer)
{
	bool has_time = queue_waiting(&writer->queue) < writer->queue.size / BUSY_SHARE;

	FOR_EACH_STREAM (writer, stream)
		stream->sink.hash_at_once = has_time;
}

static size_t write_batch(struct writer *writer)
{
	struct row row;
	size_t rows = 0;

	choose_hashing(writer);
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

int writer_write_manifest(struct writer *writer)
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
			.missed = atomic_load(&stream->missed),
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
		writer_write_manifest(writer);
	wait(writer);
}

static void add_path(const struct writer *writer, struct writer_paths *paths,
		     const struct sink *sink, const struct segment *segment)
{
	char **path = paths ? &paths->paths[sink->stream] : NULL;

	if (path && asprintf(path, "%s/%s/%s", writer->output, iotr_schemas[sink->stream].folder,
			     segment->name) < 0)
		*path = NULL;
}

int writer_do_rotate(void *owner, void *argument)
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
	error = writer_write_manifest(writer);
	writer->manifest_due |= hashes_missing(writer);
	return result ?: error;
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

int writer_do_stop(void *owner, void *argument)
{
	struct writer *writer = owner;
	const struct writer_stop_how *how = argument;

	while (write_batch(writer))
		measure_clocks(writer);
	writer->clocks = clocks_measure();
	snprintf(writer->reason, sizeof(writer->reason), "%s", how->reason);
	close_sinks(writer, how->paths);
	hash_some(writer, SIZE_MAX);
	writer->ended = true;
	return writer_write_manifest(writer);
}

int writer_do_snapshots(void *owner, void *snapshots)
{
	struct writer *writer = owner;

	manifest_set_snapshots(&writer->manifest, snapshots);
	return writer_write_manifest(writer);
}

int writer_do_tap(void *owner, void *argument)
{
	struct writer *writer = owner;
	const struct writer_tap_how *tap = argument;

	writer->tap = tap->tap;
	writer->tap_userdata = tap->userdata;
	return 0;
}

void *writer_run(void *argument)
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
