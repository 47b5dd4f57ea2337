/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a file of a trace from its beginning in bounded memory, whether it is plain text or gzip with one or
 * more members. The folder may belong to any user: symbolic links are not followed, and only regular files are
 * opened. One thread per object.
 */
#pragma once

#include <nettle/sha2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct inflate_state; /* of ISA-L, which inflates several times as fast as zlib */

struct trace_file {
	int fd;
	bool gzip;
	uint64_t size; /* bytes on disk when it was opened */
	struct sha256_ctx *stored; /* hashes the bytes on disk as they are read; NULL: not wanted */
	/* For gzip. */
	struct inflate_state *inflate;
	uint8_t *input;
	bool between; /* between two members: no byte of the next one was read */
};

/*
 * Opens `name` in the folder; as gzip if it ends in .gz. Returns 0, or a negative errno: -ELOOP for a symbolic
 * link, -EINVAL for any other file that is not regular, -ENOENT and others.
 */
int trace_file_open(int folder_fd, const char *name, struct trace_file *file);

/*
 * Reads the next bytes of the text. Returns their number, 0 at the end, or a negative errno: -ENODATA if gzip
 * ends too early, -EBADMSG if it is not gzip or a checksum is wrong.
 */
ssize_t trace_file_read(struct trace_file *file, char *buffer, size_t size);

/* Reads the next bytes as they are on disk, in place of those of the text. Returns their number, or the same. */
ssize_t trace_file_read_stored(struct trace_file *file, void *buffer, size_t size);

/* Takes a file that could not be opened, too. */
void trace_file_close(struct trace_file *file);
