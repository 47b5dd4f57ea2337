// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUT_SIZE  (64 * 1024)
#define WINDOW_GZIP (MAX_WBITS + 16) /* zlib's value for "gzip only" */

static int open_regular(int folder_fd, const char *name, uint64_t *size)
{
	/* O_NONBLOCK, as opening a FIFO would wait for a writer; it is refused below. */
	int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return errno == ENXIO ? -EINVAL : -errno;
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	*size = (uint64_t)status.st_size;
	return fd;
}

static int begin_gzip(struct trace_file *file)
{
	file->input = malloc(INPUT_SIZE);
	file->between = true;
	if (!file->input || inflateInit2(&file->stream, WINDOW_GZIP) != Z_OK) {
		free(file->input);
		return -ENOMEM;
	}
	file->gzip = true;
	return 0;
}

int trace_file_open(int folder_fd, const char *name, struct trace_file *file)
{
	size_t length = strlen(name);
	int r;

	*file = (struct trace_file){ .fd = -1 };
	r = open_regular(folder_fd, name, &file->size);
	if (r < 0)
		return r;
	file->fd = r;
	if (length < 3 || strcmp(name + length - 3, ".gz"))
		return 0;
	r = begin_gzip(file);
	if (r < 0)
		trace_file_close(file);
	return r;
}

void trace_file_close(struct trace_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	if (!file->gzip)
		return;
	inflateEnd(&file->stream);
	free(file->input);
	file->gzip = false;
}

static ssize_t read_some(int fd, void *buffer, size_t size)
{
	ssize_t got;

	do
		got = read(fd, buffer, size);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static int inflate_error(int result)
{
	return result == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

/* Returns 1 if there is input, 0 at the end of the file between two members. */
static int fill_input(struct trace_file *file)
{
	ssize_t got;

	if (file->stream.avail_in)
		return 1;
	got = read_some(file->fd, file->input, INPUT_SIZE);
	if (got < 0)
		return (int)got;
	if (!got)
		return file->between ? 0 : -ENODATA;
	if (file->stored)
		sha256_update(file->stored, (size_t)got, file->input);
	file->stream.next_in = file->input;
	file->stream.avail_in = (uInt)got;
	return 1;
}

static ssize_t read_gzip(struct trace_file *file, char *buffer, size_t size)
{
	file->stream.next_out = (Bytef *)buffer;
	file->stream.avail_out = (uInt)size;
	while (file->stream.avail_out == size) {
		int r = fill_input(file);

		/* A file without any member is not gzip. */
		if (!r && !file->size)
			return -ENODATA;
		if (r <= 0)
			return r;
		file->between = false;
		r = inflate(&file->stream, Z_NO_FLUSH);
		if (r == Z_STREAM_END) {
			inflateReset(&file->stream);
			file->between = true;
		} else if (r != Z_OK) {
			return inflate_error(r);
		}
	}
	return (ssize_t)(size - file->stream.avail_out);
}

ssize_t trace_file_read(struct trace_file *file, char *buffer, size_t size)
{
	if (size > INT32_MAX)
		size = INT32_MAX;
	return file->gzip ? read_gzip(file, buffer, size) : read_some(file->fd, buffer, size);
}

ssize_t trace_file_read_stored(struct trace_file *file, void *buffer, size_t size)
{
	return read_some(file->fd, buffer, size);
}
