/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of one stream of one session: lines into a buffer, the buffer into the segment that
 * is being written. Writer thread only, but for the counters.
 *
 * Only whole lines count as written. What a failed write left of a line is cut off. Lines that
 * could not be written stay in the buffer and are tried again with the next flush; when there is
 * no room for more they are lost, and counted.
 *
 * The first segment is there from the beginning; each later one begins with the first row for it,
 * so a stream without rows makes no further files.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"
#include "format.h"
#include "segment.h"
#include "storage/trace.h"

enum {
	SINK_BUFFER_SIZE = 1024 * 1024,
	SINK_PAST_CACHE = 256 * 1024, /* so many bytes at once go to the disk past the page cache */
	SINK_LARGE_PAGE = 2 * 1024 * 1024, /* of most machines; on others only the alignment is of no use */
};

/* What a session has in its files and buffers, all streams together; headers included. */
struct extent {
	uint64_t rows;
	uint64_t bytes;
};

struct sink {
	enum iotr_stream stream;
	int folder_fd;
	struct extent *extent; /* not owned, as the next */
	struct trace *trace;   /* asked for room; NULL: there is enough */
	struct segment_kind kind;
	unsigned int number;	 /* of the last segment */
	struct segment *segment; /* that is being written; NULL between two */
	struct segment_list segments;
	struct segment *unclosed; /* the first that has not its final name yet, or NULL */
	/*
	 * What is written past the page cache are whole blocks of the file. So the buffer begins where a block does,
	 * with bytes that are in the file already.
	 */
	char *buffer;
	bool was_full; /* it has run full once: see lay_together() */
	size_t used;
	size_t settled; /* of these: bytes at the beginning that are in the file, and counted */
	uint64_t buffered_rows; /* behind those */
	uint64_t first_ns; /* of the buffered rows, CLOCK_MONOTONIC */
	uint64_t last_ns;
	uint64_t first_realtime_ns;
	uint64_t last_realtime_ns;
	/* Read by any thread. */
	_Atomic uint64_t written;
	_Atomic uint64_t bytes;
	_Atomic uint64_t lost;
	_Atomic uint64_t removed; /* rows of segments that were removed to make room */
	struct sink_removed {
		_Atomic uint64_t rows, segments;
	} removed_by[IOTR_REMOVAL_COUNT];
	_Atomic uint64_t segment_count;
	_Atomic int error; /* of the last write */
};

/* Creates the stream's folder below `output_fd` and its first segment. */
int sink_init(struct sink *sink, int output_fd, enum iotr_stream stream,
	      enum iotr_format format, struct extent *extent, struct trace *trace);
void sink_done(struct sink *sink); /* takes an all-zero sink too */

/* Removes its files and its folder, which is its own. */
void sink_remove(struct sink *sink, int output_fd);

/* Writes the buffer, but for its last part of a block, when a line of `size` bytes does not fit. */
void sink_make_space(struct sink *sink, size_t size);

/* Bytes of lines that are not in the file yet. */
static inline size_t sink_unwritten(const struct sink *sink)
{
	return sink->used - sink->settled;
}

/* Room for a line of at most `size` bytes, which is less than SINK_BUFFER_SIZE. Never NULL. */
static inline char *sink_reserve(struct sink *sink, size_t size)
{
	if (sink->used + size > SINK_BUFFER_SIZE)
		sink_make_space(sink, size);
	return sink->buffer + sink->used;
}

/* Bytes of the header that the files grow by with the first line of a segment. */
static inline size_t sink_new_header(const struct sink *sink)
{
	return sink->segment ? 0 : sink->kind.header_size;
}

/* Bytes by which a line of `size` makes the session's files grow. */
static inline size_t sink_growth(const struct sink *sink, size_t size)
{
	return size + (sink_unwritten(sink) ? 0 : sink_new_header(sink));
}

/* Whether its segment stays within `limit` bytes with a line of `size`, or holds nothing but that line. */
bool sink_fits(const struct sink *sink, size_t size, uint64_t limit);

/* When a row began. */
struct sink_time {
	uint64_t mono_ns;
	uint64_t realtime_ns;
};

static inline void sink_widen(uint64_t *first, uint64_t *last, uint64_t least, uint64_t greatest)
{
	*first = least < *first ? least : *first;
	*last = greatest > *last ? greatest : *last;
}

/* Counts lines that were written to the reserved room, of rows whose times lie within these. */
static inline void sink_commit_lines(struct sink *sink, size_t size, uint64_t rows, struct sink_time first,
				     struct sink_time last)
{
	sink->extent->rows += rows;
	sink->extent->bytes += sink_growth(sink, size);
	sink->used += size;
	sink->buffered_rows += rows;
	sink_widen(&sink->first_ns, &sink->last_ns, first.mono_ns, last.mono_ns);
	sink_widen(&sink->first_realtime_ns, &sink->last_realtime_ns, first.realtime_ns, last.realtime_ns);
}

/* The same with one line. */
static inline void sink_commit(struct sink *sink, size_t size, struct sink_time time)
{
	sink_commit_lines(sink, size, 1, time, time);
}

/* Counts a row as lost that did not get into the buffer. */
void sink_lose_row(struct sink *sink);

/* Writes what is buffered, as far as that can be done. */
int sink_flush(struct sink *sink);

/*
 * Ends the segment and returns it; NULL when it has no rows and goes on. The buffer must be empty.
 * The segment gets its final name now, or later if that fails.
 */
struct segment *sink_cut(struct sink *sink);

/* Writes what can be written, counts the rest as lost, and ends the segment. */
int sink_close(struct sink *sink);

/* Final names for segments that have none yet. */
int sink_close_rest(struct sink *sink);

/* Adds what limits removed of it to the description of the stream. Any thread. */
void sink_describe_removed(const struct sink *sink, struct json_object *stream);

/*
 * Notes that a closed segment was compressed or removed. The latest removed ones stay in the list,
 * for the manifest.
 */
void sink_change(struct sink *sink, const struct trace_change *change);
