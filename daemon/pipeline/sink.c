// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format_csv.h"
#include "schema.h"

#define FOLDER_MODE 0750

#define add(counter, value)                                                                        \
	atomic_store_explicit(&(counter),                                                          \
			      atomic_load_explicit(&(counter), memory_order_relaxed) + (value),    \
			      memory_order_relaxed)

static int begin_segment(struct sink *sink)
{
	const char *prefix = iotr_schemas[sink->stream].folder;
	char header[FORMAT_CSV_HEADER_MAX];
	size_t size = format_csv_header(sink->stream, header);
	struct segment *segment;
	int error;

	error = segment_new(sink->folder_fd, prefix, sink->number + 1, header, size, &segment);
	if (error < 0)
		return error;
	sink->number++;
	sink->segment = segment;
	TAILQ_INSERT_TAIL(&sink->segments, segment, entry);
	if (!sink->unhashed)
		sink->unhashed = segment;
	add(sink->segment_count, 1);
	return 0;
}

int sink_init(struct sink *sink, int output_fd, enum iotr_stream stream)
{
	const char *folder = iotr_schemas[stream].folder;

	memset(sink, 0, sizeof(*sink));
	sink->stream = stream;
	sink->first_ns = UINT64_MAX;
	TAILQ_INIT(&sink->segments);
	sink->folder_fd = -1;
	sink->buffer = malloc(SINK_BUFFER_SIZE);
	if (!sink->buffer)
		return -ENOMEM;
	if (mkdirat(output_fd, folder, FOLDER_MODE) < 0)
		return -errno;
	sink->folder_fd = openat(output_fd, folder, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sink->folder_fd < 0)
		return -errno;
	return begin_segment(sink);
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
	free(sink->buffer);
	sink->buffer = NULL;
}

static void clear_buffer(struct sink *sink)
{
	sink->used = 0;
	sink->buffered_rows = 0;
	sink->first_ns = UINT64_MAX;
	sink->last_ns = 0;
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

/* `rows` lines of `size` bytes, the first of the buffer, are in the file. */
static void account(struct sink *sink, size_t size, uint64_t rows)
{
	struct segment *segment = sink->segment;

	if (!rows)
		return;
	segment_accept(segment, sink->buffer, size, sink->hash_at_once);
	segment->rows += rows;
	if (sink->first_ns < segment->first_ns)
		segment->first_ns = sink->first_ns;
	if (sink->last_ns > segment->last_ns)
		segment->last_ns = sink->last_ns;
	add(sink->written, rows);
	add(sink->bytes, size);
}

/* Only `done` bytes went: the whole lines among them count, the others stay in the buffer. */
static void keep_rest(struct sink *sink, size_t done)
{
	const char *end = memrchr(sink->buffer, '\n', done);
	size_t whole = end ? (size_t)(end + 1 - sink->buffer) : 0;
	uint64_t rows = count_lines(sink->buffer, whole);

	account(sink, whole, rows);
	if (whole < done && ftruncate(sink->segment->fd, (off_t)sink->segment->bytes) < 0)
		atomic_store(&sink->error, -errno);
	sink->used -= whole;
	sink->buffered_rows -= rows;
	memmove(sink->buffer, sink->buffer + whole, sink->used);
}

int sink_flush(struct sink *sink)
{
	size_t done;
	int error;

	if (!sink->used)
		return 0;
	done = segment_write(sink->segment, sink->buffer, sink->used, &error);
	atomic_store_explicit(&sink->error, error, memory_order_relaxed);
	if (done < sink->used) {
		keep_rest(sink, done);
		return error;
	}
	account(sink, sink->used, sink->buffered_rows);
	clear_buffer(sink);
	return 0;
}

static void lose_buffer(struct sink *sink)
{
	add(sink->lost, sink->buffered_rows);
	clear_buffer(sink);
}

char *sink_reserve(struct sink *sink, size_t size)
{
	if (sink->used + size > SINK_BUFFER_SIZE)
		sink_flush(sink);
	if (sink->used + size > SINK_BUFFER_SIZE)
		lose_buffer(sink);
	return sink->buffer + sink->used;
}

void sink_commit(struct sink *sink, size_t size, uint64_t start_ns)
{
	sink->used += size;
	sink->buffered_rows++;
	if (start_ns < sink->first_ns)
		sink->first_ns = start_ns;
	if (start_ns > sink->last_ns)
		sink->last_ns = start_ns;
}

int sink_rotate(struct sink *sink, const struct segment **closed)
{
	struct segment *segment = sink->segment;
	int error;

	*closed = NULL;
	error = sink_flush(sink);
	if (!segment->rows)
		return error;
	error = begin_segment(sink);
	if (error < 0)
		return error;
	error = segment_close(segment, sink->folder_fd);
	if (!error)
		*closed = segment;
	return error;
}

int sink_close(struct sink *sink)
{
	int error = sink_flush(sink);

	lose_buffer(sink);
	return segment_close(sink->segment, sink->folder_fd) ?: error;
}

bool sink_hash(struct sink *sink)
{
	while (sink->unhashed && sink->unhashed->closed && sink->unhashed->fd < 0)
		sink->unhashed = TAILQ_NEXT(sink->unhashed, entry);
	return sink->unhashed && segment_hash(sink->unhashed);
}
