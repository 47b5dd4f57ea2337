// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUT_SIZE (64 * 1024)
#define GZIP_MAGIC 0x1f /* the first byte of a member */

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

/* The next bytes begin a member. What was read beyond the last one stays. */
static void begin_member(struct trace_file *file)
{
	isal_inflate_reset(file->inflate);
	file->inflate->crc_flag = ISAL_GZIP; /* header and trailer are read, and the checksum is compared */
	file->between = true;
}

static int begin_gzip(struct trace_file *file)
{
	file->gzip = true;
	file->input = malloc(INPUT_SIZE);
	file->inflate = malloc(sizeof(*file->inflate));
	if (!file->input || !file->inflate)
		return -ENOMEM;
	isal_inflate_init(file->inflate);
	begin_member(file);
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
	free(file->inflate);
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

/* Returns 1 if there is input, 0 at the end of the file between two members. */
static int fill_input(struct trace_file *file)
{
	ssize_t got;

	if (file->inflate->avail_in)
		return 1;
	got = read_some(file->fd, file->input, INPUT_SIZE);
	if (got < 0)
		return (int)got;
	if (!got)
		return file->between ? 0 : -ENODATA;
	if (file->stored)
		sha256_update(file->stored, (size_t)got, file->input);
	file->inflate->next_in = file->input;
	file->inflate->avail_in = (uint32_t)got;
	return 1;
}

static int inflate_some(struct trace_file *file)
{
	/* Before it looks at the first byte of a member, ISA-L waits until the header is whole. */
	if (file->between && *file->inflate->next_in != GZIP_MAGIC)
		return -EBADMSG;
	file->between = false;
	if (isal_inflate(file->inflate) < 0)
		return -EBADMSG;
	if (file->inflate->block_state == ISAL_BLOCK_FINISH)
		begin_member(file);
	return 0;
}

static ssize_t read_gzip(struct trace_file *file, char *buffer, size_t size)
{
	struct inflate_state *inflate = file->inflate;
	int r = 0;

	inflate->next_out = (uint8_t *)buffer;
	inflate->avail_out = (uint32_t)size;
	/* The state may still hold text for which there was no room the last time, though all input was taken. */
	if (!file->between)
		r = inflate_some(file);
	while (r >= 0 && inflate->avail_out == size) {
		r = fill_input(file);
		/* A file without any member is not gzip. */
		if (!r && !file->size)
			return -ENODATA;
		if (r <= 0)
			return r;
		r = inflate_some(file);
	}
	return r < 0 ? r : (ssize_t)(size - inflate->avail_out);
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
