// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_read.h"

#include <errno.h>
#include <stdlib.h>

#define PIECE (256 * 1024) /* fits into the processor's cache, as each piece is read, hashed and scanned */

struct sums {
	XXH3_state_t *xxh128;
	struct sha256_ctx sha256;
};

static int read_all(struct trace_file *file, struct trace_scan *scan, struct trace_read *read, struct sums *sums)
{
	while (!scan->stopped && (!read->limit || read->bytes <= read->limit)) {
		size_t size;
		char *room = trace_scan_room(scan, &size);
		ssize_t got = trace_file_read(file, room, size < PIECE ? size : PIECE);

		if (got <= 0)
			return (int)got;
		XXH3_128bits_update(sums->xxh128, room, (size_t)got);
		if (read->wants_sha256)
			sha256_update(&sums->sha256, (size_t)got, (const uint8_t *)room);
		read->bytes += (uint64_t)got;
		trace_scan_added(scan, (size_t)got);
		if (read->progress && !read->progress((uint64_t)got, read->userdata))
			return -ECANCELED;
	}
	return 0;
}

static int read_text(struct trace_file *file, struct trace_scan *scan, struct trace_read *read)
{
	struct sums sums = { .xxh128 = XXH3_createState() };
	int r;

	if (!sums.xxh128)
		return -ENOMEM;
	XXH3_128bits_reset(sums.xxh128);
	sha256_init(&sums.sha256);
	r = read_all(file, scan, read, &sums);
	xxh128_hex(sums.xxh128, read->xxh128);
	if (read->wants_sha256)
		sha256_hex(&sums.sha256, read->sha256);
	XXH3_freeState(sums.xxh128);
	return r;
}

/* Opens the file, whose results are none yet. */
static int begin(int folder_fd, const char *name, struct trace_file *file, struct trace_read *read)
{
	int r = trace_file_open(folder_fd, name, file);

	read->bytes = 0;
	read->xxh128[0] = read->sha256[0] = read->stored_sha256[0] = '\0';
	if (r >= 0)
		read->stored = file->size;
	return r;
}

int trace_read(int folder_fd, const char *name, struct trace_scan *scan, struct trace_read *read)
{
	struct sha256_ctx stored;
	struct trace_file file;
	int r = begin(folder_fd, name, &file, read);

	if (r < 0)
		return r;
	if (file.gzip && read->wants_stored_sha256)
		file.stored = &stored;
	sha256_init(&stored);
	r = read_text(&file, scan, read);
	if (file.stored)
		sha256_hex(&stored, read->stored_sha256);
	trace_file_close(&file);
	return r;
}

static int hash_stored(struct trace_file *file, struct trace_read *read)
{
	uint8_t *piece = malloc(PIECE);
	struct sha256_ctx stored;
	ssize_t got = piece ? 1 : -ENOMEM;

	sha256_init(&stored);
	while (got > 0 && (got = trace_file_read_stored(file, piece, PIECE)) > 0) {
		sha256_update(&stored, (size_t)got, piece);
		if (read->progress && !read->progress((uint64_t)got, read->userdata))
			got = -ECANCELED;
	}
	sha256_hex(&stored, read->stored_sha256);
	free(piece);
	return (int)got;
}

int trace_read_stored(int folder_fd, const char *name, struct trace_read *read)
{
	struct trace_file file;
	int r = begin(folder_fd, name, &file, read);

	if (r < 0)
		return r;
	r = hash_stored(&file, read);
	trace_file_close(&file);
	return r;
}
