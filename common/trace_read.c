// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_read.h"

#include <errno.h>

#define PIECE (256 * 1024) /* fits into the processor's cache, as each piece is read, hashed and scanned */

static int read_all(struct trace_file *file, struct trace_scan *scan, struct trace_read *read,
		    struct sha256_ctx *hash)
{
	while (!scan->stopped && (!read->limit || read->bytes <= read->limit)) {
		size_t size;
		char *room = trace_scan_room(scan, &size);
		ssize_t got = trace_file_read(file, room, size < PIECE ? size : PIECE);

		if (got <= 0)
			return (int)got;
		sha256_update(hash, (size_t)got, (const uint8_t *)room);
		read->bytes += (uint64_t)got;
		trace_scan_added(scan, (size_t)got);
		if (read->progress && !read->progress((uint64_t)got, read->userdata))
			return -ECANCELED;
	}
	return 0;
}

int trace_read(int folder_fd, const char *name, struct trace_scan *scan, struct trace_read *read)
{
	struct sha256_ctx hash;
	struct trace_file file;
	int r = trace_file_open(folder_fd, name, &file);

	read->bytes = 0;
	if (r < 0)
		return r;
	read->stored = file.size;
	sha256_init(&hash);
	r = read_all(&file, scan, read, &hash);
	trace_file_close(&file);
	sha256_hex(&hash, read->sha256);
	return r;
}
