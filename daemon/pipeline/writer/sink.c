// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inside.h"
#include "schema.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

#define add(counter, value)                                                                        \
	atomic_store_explicit(&(counter),                                                          \
			      atomic_load_explicit(&(counter), memory_order_relaxed) + (value),    \
			      memory_order_relaxed)

static int begin_segment(struct sink *sink)
{
	size_t header = sink->kind.header_size;
	struct segment *segment;
	int error = trace_take(sink->trace, header, TRACE_ROOM_OLDEST);

	if (error < 0)
		return error;
	error = segment_new(sink->folder_fd, &sink->kind, sink->number + 1, &segment);
	trace_settle(sink->trace, header, error < 0 ? 0 : header);
	if (error < 0)
		return error;
	sink->number++;
	sink->segment = segment;
	TAILQ_INSERT_TAIL(&sink->segments, segment, entry);
	if (!sink->unclosed)
		sink->unclosed = segment;
	add(sink->segment_count, 1);
	return 0;
}

static int make_header(struct sink *sink, enum iotr_format format)
{
	char *header = malloc(FORMAT_CSV_HEADER_MAX);

	if (!header)
		return -ENOMEM;
	sink->kind = (struct segment_kind){
		.folder = iotr_schemas[sink->stream].folder,
		.format = format,
		.header = header,
		.header_size = formats[format].header(sink->stream, header),
	};
	return 0;
}

static void clear_buffer(struct sink *sink);

int sink_init(struct sink *sink, int output_fd, enum iotr_stream stream,
	      enum iotr_format format, struct extent *extent, struct trace *trace)
{
	const char *folder = iotr_schemas[stream].folder;
	int error;

	memset(sink, 0, sizeof(*sink));
	sink->stream = stream;
	sink->extent = extent;
	sink->trace = trace;
	TAILQ_INIT(&sink->segments);
	sink->folder_fd = -1;
	clear_buffer(sink);
	sink->buffer = aligned_alloc(SINK_LARGE_PAGE, SINK_LARGE_PAGE);
	if (!sink->buffer)
		return -ENOMEM;
	error = make_header(sink, format);
	if (error < 0)
		return error;
	sink->folder_fd = inside_make_folder(output_fd, folder);
	if (sink->folder_fd < 0)
		return sink->folder_fd;
	error = begin_segment(sink);
	if (!error)
		extent->bytes += sink->kind.header_size;
	return error;
}

void sink_done(struct sink *sink)
{
	struct segment *segment;

	if (!sink->buffer)
		return;
	while ((segment = TAILQ_FIRST(&sink->segments))) {
		TAILQ_REMOVE(&sink->segments, segment, entry);
		segment_free(segment);
	}
	if (sink->folder_fd >= 0)
		close(sink->folder_fd);
	free((char *)sink->kind.header);
	free(sink->buffer);
	sink->buffer = NULL;
}

void sink_remove(struct sink *sink, int output_fd)
{
	const struct segment *segment;

	if (!sink->buffer || sink->folder_fd < 0)
		return;
	TAILQ_FOREACH (segment, &sink->segments, entry)
		segment_remove(segment, sink->folder_fd);
	unlinkat(output_fd, iotr_schemas[sink->stream].folder, AT_REMOVEDIR);
}

static void clear_buffer(struct sink *sink)
{
	sink->used = sink->settled;
	sink->buffered_rows = 0;
	sink->first_ns = sink->first_realtime_ns = UINT64_MAX;
	sink->last_ns = sink->last_realtime_ns = 0;
}

static uint64_t count_lines(const char *data, size_t size)
{
	uint64_t lines = 0;
	const char *end = data + size, *at = data;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
		lines++;
		at++;
	}
	return lines;
}

/* Counts `rows` lines of `size` bytes behind the settled ones, which are in the file now. */
static void account(struct sink *sink, size_t size, uint64_t rows)
{
	struct segment *segment = sink->segment;

	if (!rows)
		return;
	segment_accept(segment, sink->buffer + sink->settled, size);
	segment->rows += rows;
	sink_widen(&segment->first_ns, &segment->last_ns, sink->first_ns, sink->last_ns);
	sink_widen(&segment->first_realtime_ns, &segment->last_realtime_ns, sink->first_realtime_ns,
	      sink->last_realtime_ns);
	add(sink->written, rows);
	add(sink->bytes, size);
	sink->settled += size;
	sink->buffered_rows -= rows;
}

/* The first `done` bytes of the buffer are in the file: counts the whole lines among them. */
static void settle(struct sink *sink, size_t done)
{
	const char *end = memrchr(sink->buffer, '\n', done);
	size_t whole = end ? (size_t)(end + 1 - sink->buffer) : 0;

	if (whole > sink->settled)
		account(sink, whole - sink->settled,
			sink->buffered_rows - count_lines(sink->buffer + whole, sink->used - whole));
}

/* Lets go of what is in the file, but for the last part of a block, so that the buffer begins with a block again. */
static void drop_settled(struct sink *sink)
{
	uint64_t offset = sink->segment->bytes - sink->settled;
	uint64_t block = sink->segment->bytes / WRITE_BEHIND_BLOCK * WRITE_BEHIND_BLOCK;
	size_t gone = block > offset ? (size_t)(block - offset) : 0;

	memmove(sink->buffer, sink->buffer + gone, sink->used - gone);
	sink->used -= gone;
	sink->settled -= gone;
	if (sink->used == sink->settled)
		clear_buffer(sink);
}

/*
 * Makes sure of a segment for the buffer, and of room for it. Where all else has been removed, the
 * open segment is ended, so that it can be removed as well.
 */
static int make_room(struct sink *sink)
{
	int error = sink->segment ? 0 : begin_segment(sink);

	if (!error)
		error = trace_take(sink->trace, sink_unwritten(sink), TRACE_ROOM_OLDEST);
	if (!error || !sink_cut(sink))
		return error;
	sink->extent->bytes += sink->kind.header_size;
	return begin_segment(sink) ?: trace_take(sink->trace, sink_unwritten(sink), TRACE_ROOM_OLDEST);
}

/* What of the buffer is written. */
enum part {
	WHOLE_BUFFER,
	WHOLE_BLOCKS, /* where these can be written past the page cache */
};

static int put_buffer(struct sink *sink, enum part part)
{
	uint64_t offset = sink->segment->bytes - sink->settled;
	size_t blocks = sink->used / WRITE_BEHIND_BLOCK * WRITE_BEHIND_BLOCK, done = 0;
	int error = 0;

	if (sink_unwritten(sink) >= SINK_PAST_CACHE)
		done = segment_write_blocks(sink->segment, sink->buffer, blocks, offset, &error);
	if (done)
		settle(sink, done);
	if (!error && sink_unwritten(sink) && (!done || part == WHOLE_BUFFER)) {
		done = sink->settled;
		done += segment_write(sink->segment, sink->buffer + done, sink->used - done, offset + done, &error);
		settle(sink, done);
	}
	if (error < 0 && sink_unwritten(sink))
		segment_trim(sink->segment);
	drop_settled(sink);
	return error;
}

static int write_buffer(struct sink *sink, enum part part)
{
	size_t taken = sink_unwritten(sink);
	uint64_t before;
	int error = make_room(sink);

	if (error < 0)
		return error;
	before = sink->segment->bytes;
	error = put_buffer(sink, part);
	trace_settle(sink->trace, taken, sink->segment->bytes - before);
	return error;
}

static bool closing_is_due(const struct sink *sink)
{
	return sink->unclosed && sink->unclosed != sink->segment;
}

static int flush(struct sink *sink, enum part part)
{
	int close_error, error = 0;

	if (!sink_unwritten(sink) && !closing_is_due(sink))
		return 0;
	close_error = sink_close_rest(sink);
	if (sink_unwritten(sink))
		error = write_buffer(sink, part);
	error = error ?: close_error;
	atomic_store_explicit(&sink->error, error, memory_order_relaxed);
	return error;
}

int sink_flush(struct sink *sink)
{
	return flush(sink, WHOLE_BUFFER);
}

static void lose_buffer(struct sink *sink)
{
	if (!sink_unwritten(sink))
		return;
	add(sink->lost, sink->buffered_rows);
	sink->extent->rows -= sink->buffered_rows;
	sink->extent->bytes -= sink_unwritten(sink) + sink_new_header(sink);
	clear_buffer(sink);
}

void sink_lose_row(struct sink *sink)
{
	add(sink->lost, 1);
}

/*
 * Lays a buffer on one large page. On single pages it has more parts than some disks take in a request, and is written in two.
 * Streams of few rows never need so much memory. Where the kernel cannot do it, or has no such page, nothing changes.
 */
static void lay_together(struct sink *sink)
{
	if (sink->was_full)
		return;
	sink->was_full = true;
	if (madvise(sink->buffer, SINK_LARGE_PAGE, MADV_HUGEPAGE) == 0)
		madvise(sink->buffer, SINK_LARGE_PAGE, MADV_COLLAPSE);
}

void sink_make_space(struct sink *sink, size_t size)
{
	lay_together(sink);
	flush(sink, WHOLE_BLOCKS);
	if (sink->used + size > SINK_BUFFER_SIZE)
		lose_buffer(sink);
}

bool sink_fits(const struct sink *sink, size_t size, uint64_t limit)
{
	uint64_t bytes = sink->segment ? sink->segment->bytes : sink->kind.header_size;

	return bytes + sink_unwritten(sink) + size <= limit ||
	       (!sink_unwritten(sink) && (!sink->segment || !sink->segment->rows));
}

static int close_segment(struct sink *sink, struct segment *segment)
{
	int error;

	trace_closing(sink->trace, sink->stream);
	error = segment_close(segment, sink->folder_fd);
	if (error < 0)
		return error;
	sink->unclosed = TAILQ_NEXT(segment, entry);
	trace_closed(sink->trace, sink->stream, segment->number, segment->name, segment->bytes,
		     segment->rows);
	return 0;
}

int sink_close_rest(struct sink *sink)
{
	int error = 0;

	while (closing_is_due(sink) && !error)
		error = close_segment(sink, sink->unclosed);
	return error;
}

static void end_segment(struct sink *sink)
{
	sink->segment = NULL;
	sink->used -= sink->settled;
	memmove(sink->buffer, sink->buffer + sink->settled, sink->used);
	sink->settled = 0;
}

struct segment *sink_cut(struct sink *sink)
{
	struct segment *segment = sink->segment;
	int error;

	if (!segment || !segment->rows)
		return NULL;
	end_segment(sink);
	error = sink_close_rest(sink);
	if (error < 0)
		atomic_store_explicit(&sink->error, error, memory_order_relaxed);
	return segment;
}

int sink_close(struct sink *sink)
{
	int error = sink_flush(sink);

	lose_buffer(sink);
	end_segment(sink);
	return sink_close_rest(sink) ?: error;
}

/* Drops the oldest removed segments from the list when the manifest would list too many of them. */
static void forget_removed(struct sink *sink)
{
	unsigned int count = 0, most = trace_removed_listed(sink->trace);
	struct segment *segment;

	TAILQ_FOREACH (segment, &sink->segments, entry)
		count += segment->removed;
	while (count-- > most && (segment = TAILQ_FIRST(&sink->segments))->removed) {
		TAILQ_REMOVE(&sink->segments, segment, entry);
		segment_free(segment);
	}
}

void sink_describe_removed(const struct sink *sink, struct json_object *stream)
{
	for (enum iotr_removal limit = 0; limit < IOTR_REMOVAL_COUNT; limit++)
		iotr_removal_add(stream, limit, atomic_load(&sink->removed_by[limit].rows),
				 atomic_load(&sink->removed_by[limit].segments));
}

void sink_change(struct sink *sink, const struct trace_change *change)
{
	struct segment *segment;

	TAILQ_FOREACH (segment, &sink->segments, entry)
		if (segment->number == change->number)
			break;
	if (!segment)
		return;
	if (change->removed) {
		segment_lost(segment, change->limit);
		add(sink->removed, segment->rows);
		add(sink->removed_by[change->limit].rows, segment->rows);
		add(sink->removed_by[change->limit].segments, 1);
		forget_removed(sink);
		return;
	}
	segment->compressed = true;
	segment->stored = change->stored;
	memcpy(segment->stored_sha256, change->stored_sha256, sizeof(segment->stored_sha256));
	segment_changed(segment);
}
