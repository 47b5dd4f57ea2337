// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_read.h"

#include <errno.h>

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

static int read_file(struct trace_file *file, struct trace_scan *scan, struct trace_read *read)
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

int trace_read(int folder_fd, const char *name, struct trace_scan *scan, struct trace_read *read)
{
	struct trace_file file;
	int r = trace_file_open(folder_fd, name, &file);

	read->bytes = 0;
	read->xxh128[0] = read->sha256[0] = '\0';
	if (r < 0)
		return r;
	read->stored = file.size;
	r = read_file(&file, scan, read);
	trace_file_close(&file);
	return r;
}
