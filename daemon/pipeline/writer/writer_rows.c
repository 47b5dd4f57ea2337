// SPDX-License-Identifier: GPL-2.0-or-later
/* A row from the queue to its stream's sink, and to live views. */
#include "writer_private.h"

#include <stdlib.h>
#include <string.h>

#include "format_fields.h"

#define BATCH_ROWS 1024

_Static_assert((int)CELLS_ANONYMIZED_MAX < (int)SINK_BUFFER_SIZE * 3 / 4, "a row fits the buffer of a sink");

/* `tail` gets the values, in whatever format the files are. */
static void show(struct writer *writer, const struct row *row)
{
	enum iotr_stream stream = row->record->stream;
	char *fields = malloc(format_csv_bound(row, writer->anonymizer));
	struct cell cell[CELLS_MAX];
	size_t size, columns;

	if (!fields)
		return;
	columns = cells_fill(&writer->cells, row, cell);
	if (writer->anonymizer)
		cells_anonymize(writer->anonymizer, stream, cell, columns);
	size = format_fields(cell, columns, fields);
	pthread_mutex_lock(&writer->tap_lock);
	if (writer->tap)
		writer->tap(stream, fields, size, writer->tap_userdata);
	pthread_mutex_unlock(&writer->tap_lock);
	free(fields);
}

void writer_tap_set(struct writer *writer, writer_tap tap, void *userdata)
{
	pthread_mutex_lock(&writer->tap_lock);
	writer->tap = tap;
	writer->tap_userdata = userdata;
	pthread_mutex_unlock(&writer->tap_lock);
	atomic_store(&writer->tapped, tap);
}

/* The line after the buffer's end becomes one of the session, if limits and room allow it. */
static bool accept_line(struct writer *writer, struct writer_stream *stream, char *line,
			size_t length, uint64_t start_ns)
{
	struct sink *sink = &stream->sink;
	struct sink_time time = { start_ns, start_ns + (uint64_t)writer->cells.realtime_offset };

	if (!writer_make_room(writer, sink, length)) {
		sink_lose_row(sink);
		return false;
	}
	if (!writer_within_limits(writer, sink, length)) {
		atomic_fetch_add(&stream->dropped, 1);
		return false;
	}
	if (line != sink->buffer + sink->used)
		memmove(sink->buffer + sink->used, line, length); /* a rotation emptied the buffer */
	sink_commit(sink, length, time);
	writer_check_rows(writer);
	return true;
}

/* Writes the row's line behind the buffer's end, and returns its length. */
static size_t write_line(struct writer *writer, struct writer_stream *stream, const struct row *row, char **line)
{
	if (row->line && writer->takes_lines) {
		*line = sink_reserve(&stream->sink, row->line_length);
		memcpy(*line, row->line, row->line_length);
		return row->line_length;
	}
	*line = sink_reserve(&stream->sink, writer->format->bound(row, writer->anonymizer));
	return writer->format->row(stream->format, &writer->cells, row, *line);
}

static void write_row(struct writer *writer, const struct row *row)
{
	struct writer_stream *stream = &writer->streams[row->record->stream];
	char *line;
	size_t length;

	/* The wall clock may be set or slewed while we run: each row gets the time at which it happened. */
	writer->cells.realtime_offset = clocks_offset(&writer->clock, row->record->start_ns);
	length = write_line(writer, stream, row, &line);
	if (atomic_load_explicit(&stream->sink.error, memory_order_relaxed) &&
	    !writer->disk.failing)
		writer_disk_note(writer);
	if (accept_line(writer, stream, line, length, row->record->start_ns) &&
	    atomic_load_explicit(&writer->tapped, memory_order_relaxed))
		show(writer, row);
}

/* Counts a row after a limit, which is not of the session. */
static void drop_row(struct writer *writer, const struct row *row)
{
	atomic_fetch_add(&writer->streams[row->record->stream].dropped, 1);
}

/* Whether neither a limit, a rotation, a failing disk nor a live view wants a look at each row of the run. */
static bool takes_whole(struct writer *writer, struct sink *sink, const struct queue_run *run)
{
	const struct extent *extent = &writer->extent;

	return !atomic_load_explicit(&writer->limit, memory_order_relaxed) &&
	       !atomic_load_explicit(&writer->tapped, memory_order_relaxed) &&
	       !atomic_load_explicit(&sink->error, memory_order_relaxed) &&
	       (!writer->max_events || extent->rows + run->rows < writer->max_events) &&
	       (!writer->max_size || extent->bytes + sink_growth(sink, run->line_bytes) <= writer->max_size) &&
	       (!writer->rotate_size || sink_fits(sink, run->line_bytes, writer->rotate_size));
}

/* Writes the lines of a run that all its sessions share. False: each row is looked at by itself. */
static bool write_run(struct writer *writer, const struct queue_run *run)
{
	const struct iotr_record *record = (const struct iotr_record *)run->first->data;
	struct sink *sink = &writer->streams[record->stream].sink;

	if (!takes_whole(writer, sink, run))
		return false;
	memcpy(sink_reserve(sink, run->line_bytes), run->lines, run->line_bytes);
	sink_commit_lines(sink, run->line_bytes, run->rows, (struct sink_time){ run->first_ns, run->first_realtime_ns },
			  (struct sink_time){ run->last_ns, run->last_realtime_ns });
	return true;
}

size_t writer_write_batch(struct writer *writer)
{
	const struct queue_run *run;
	struct row row;
	size_t rows = 0;

	while (rows < BATCH_ROWS) {
		run = queue_front_run(&writer->queue);
		if (run && write_run(writer, run)) {
			rows += run->rows;
			queue_pop_run(&writer->queue);
			continue;
		}
		if (!queue_front(&writer->queue, &row))
			break;
		if (atomic_load_explicit(&writer->limit, memory_order_relaxed))
			drop_row(writer, &row);
		else
			write_row(writer, &row);
		queue_pop(&writer->queue);
		rows++;
	}
	return rows;
}
