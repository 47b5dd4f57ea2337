/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A segment: one file of a stream, .part while it is written, and what the manifest says of it; for its names see
 * segment_name.h. Writer thread only.
 *
 * Its checksum is an XXH3-128, which is so much faster than the rest of a row's way that it is computed of all lines
 * as they are written: it tells damage, not malice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "removal.h"
#include "segment_name.h"
#include "sha256_hex.h"
#include "write_behind.h"
#include "xxh128_hex.h"

struct segment {
	TAILQ_ENTRY(segment) entry;
	unsigned int number;
	char name[SEGMENT_NAME_MAX]; /* without .part and .gz */
	int fd;			     /* -1 when closed */
	bool closed;		     /* has its final name */
	bool compressed;	     /* has its final name with .gz */
	bool removed;		     /* there is no file any more */
	enum iotr_removal limit;     /* to which it was removed */
	struct write_behind behind;
	uint64_t stored;	     /* bytes on the disk, when compressed */
	uint8_t stored_sha256[SHA256_DIGEST_SIZE]; /* of these bytes */
	uint64_t rows;
	uint64_t bytes;	   /* of whole lines in the file, header included */
	uint64_t first_ns; /* least and greatest start of a row, CLOCK_MONOTONIC */
	uint64_t last_ns;
	uint64_t first_realtime_ns; /* the same as the rows' timestamps have them */
	uint64_t last_realtime_ns;
	XXH3_state_t *checksum;	      /* of these bytes; NULL when closed */
	char xxh128[XXH128_HEX_SIZE]; /* of the whole text; "" until closed */
	char *text; /* its part of the manifest, kept when nothing of it changes any more */
};

TAILQ_HEAD(segment_list, segment);

/* What every segment of a stream has in common. */
struct segment_kind {
	const char *folder; /* of the stream */
	enum iotr_format format;
	const char *header; /* not terminated */
	size_t header_size;
};

/* Creates the file with its header; nothing is left behind on an error. */
int segment_new(int folder_fd, const struct segment_kind *kind, unsigned int number,
		struct segment **ret);

/* Closes the descriptor, not the file: what is not closed stays .part. Takes NULL. */
void segment_free(struct segment *segment);

/* Writes to the file; returns how many bytes were written, and in *error what stopped it or failed (0: nothing). */
size_t segment_write(struct segment *segment, const char *data, size_t size, uint64_t offset, int *error);

/* The same past the page cache: see write_behind_put_blocks(). */
size_t segment_write_blocks(struct segment *segment, const char *data, size_t size, uint64_t offset,
			    int *error);

/* Counts these bytes, whole lines that have been written, and adds them to the checksum. */
void segment_accept(struct segment *segment, const char *data, size_t size);

/* Cuts what follows the whole lines, as far as that can be done. */
void segment_trim(struct segment *segment);

/* Cuts what follows the whole lines, gives the file its final name, and closes it: its checksum is known then. */
int segment_close(struct segment *segment, int folder_fd);

/* Removes the file, by whichever name it has. */
void segment_remove(const struct segment *segment, int folder_fd);

/* Notes that the file was removed, to keep within the limit. */
void segment_lost(struct segment *segment, enum iotr_removal limit);

/* Notes that the segment's part of the manifest has changed. */
void segment_changed(struct segment *segment);
