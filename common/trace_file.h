/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of a trace, read from its beginning in bounded memory, whether it is plain or gzip of
 * one or several members. The folder may be anybody's: symbolic links are not followed, and what
 * is no regular file is not opened. One thread per object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <zlib.h>

struct trace_file {
	int fd;
	bool gzip;
	uint64_t size; /* on disk, in bytes, as it was when opened */
	/* Of gzip. */
	z_stream stream;
	uint8_t *input;
	bool between; /* members: nothing of the next one has come */
};

/*
 * Opens `name` in the folder; gzip when it ends in .gz. 0, or a negative errno: -ELOOP for a
 * symbolic link, -EINVAL for what is neither that nor a regular file, -ENOENT and others.
 */
int trace_file_open(int folder_fd, const char *name, struct trace_file *file);

/*
 * The next bytes of the text, 0 at its end, or a negative errno: -ENODATA for gzip that ends too
 * early, -EBADMSG for what is no gzip or whose sums are wrong.
 */
ssize_t trace_file_read(struct trace_file *file, char *buffer, size_t size);

/* Takes one that could not be opened, too. */
void trace_file_close(struct trace_file *file);
