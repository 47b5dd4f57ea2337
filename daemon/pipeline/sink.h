/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of one stream of one session: lines into a buffer, the buffer into the segment that
 * is being written. Writer thread only, but for the counters.
 *
 * Only whole lines count as written. What a failed write left of a line is cut off. Lines that
 * could not be written stay in the buffer and are tried again with the next flush; when there is
 * no room for more they are lost, and counted.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"
#include "segment.h"

enum {
	SINK_BUFFER_SIZE = 256 * 1024,
};

struct sink {
	enum iotr_stream stream;
	int folder_fd;
	unsigned int number;	 /* of the current segment */
	struct segment *segment; /* the last of the list */
	struct segment_list segments;
	struct segment *unhashed; /* the first that is not hashed to its end, or NULL */
	bool hash_at_once;	  /* there is time: no need to read what was written */
	char *buffer;
	size_t used;
	uint64_t buffered_rows;
	uint64_t first_ns; /* of the buffered rows */
	uint64_t last_ns;
	/* Read by any thread. */
	_Atomic uint64_t written;
	_Atomic uint64_t bytes;
	_Atomic uint64_t lost;
	_Atomic uint64_t segment_count;
	_Atomic int error; /* of the last write */
};

/* Creates the stream's folder below `output_fd` and its first segment. */
int sink_init(struct sink *sink, int output_fd, enum iotr_stream stream);
void sink_done(struct sink *sink); /* takes an all-zero sink too */

/* Room for a line of at most `size` bytes, which is less than SINK_BUFFER_SIZE. Never NULL. */
char *sink_reserve(struct sink *sink, size_t size);

/* The line is there, of a row that began at `start_ns`. */
void sink_commit(struct sink *sink, size_t size, uint64_t start_ns);

/* Writes what is buffered, as far as that can be done. */
int sink_flush(struct sink *sink);

/*
 * Begins a new segment and closes the current one, which `*closed` names; NULL when it had no
 * rows and goes on. On an error the current one goes on.
 */
int sink_rotate(struct sink *sink, const struct segment **closed);

/* Writes what can be written, counts the rest as lost, and closes the segment. */
int sink_close(struct sink *sink);

/* A piece of hashing. False: nothing to do now. */
bool sink_hash(struct sink *sink);
