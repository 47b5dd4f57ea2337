// SPDX-License-Identifier: GPL-2.0-or-later
#include "manifest_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "inside.h"
#include "trace.h"
#include "write_all.h"

#define TEMPORARY_NAME MANIFEST_NAME ".tmp"

int manifest_file_load(int folder_fd, struct manifest_reader *reader, struct json_object **ret)
{
	int fd = inside_open(folder_fd, MANIFEST_NAME, O_RDONLY, MANIFEST_MAX);

	*reader = (struct manifest_reader){ 0 };
	return fd < 0 ? fd : manifest_reader_init(reader, fd, ret);
}

/* Removes the temporary file when a write failed. */
static int write_file(int folder_fd, const struct iovec pieces[MANIFEST_PIECES])
{
	_cleanup_close_ int fd = -1;
	int error = 0;

	if (unlinkat(folder_fd, TEMPORARY_NAME, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = inside_create(folder_fd, TEMPORARY_NAME, O_WRONLY);
	if (fd < 0)
		return fd;
	for (size_t i = 0; !error && i < MANIFEST_PIECES; i++)
		error = write_all(fd, pieces[i].iov_base, pieces[i].iov_len);
	if (!error && renameat(folder_fd, TEMPORARY_NAME, folder_fd, MANIFEST_NAME) < 0)
		error = -errno;
	if (error < 0)
		unlinkat(folder_fd, TEMPORARY_NAME, 0);
	return error;
}

int manifest_file_sync(int folder_fd)
{
	_cleanup_close_ int fd = inside_open(folder_fd, MANIFEST_NAME, O_RDONLY, UINT64_MAX);
	_cleanup_close_ int above = -1;

	if (fd < 0)
		return fd;
	above = openat(folder_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fsync(fd) < 0 || fsync(folder_fd) < 0 || (above >= 0 && fsync(above) < 0))
		return -errno;
	return 0;
}

int manifest_file_replace(int folder_fd, struct trace *trace, struct json_object *manifest,
			  const struct manifest_segments *segments, size_t *ret_size)
{
	struct iovec pieces[MANIFEST_PIECES];
	_cleanup_free_ char *escaped = NULL;
	size_t size = manifest_pieces(manifest, segments, pieces, &escaped);
	struct stat before = { 0 };
	/* It is small, and without it nobody would know what was lost, so no limit keeps it from the disk. */
	int error = size ? trace_take(trace, size, TRACE_ROOM_ALWAYS) : -ENOMEM;

	if (ret_size)
		*ret_size = size;
	if (error < 0)
		return error;
	if (fstatat(folder_fd, MANIFEST_NAME, &before, AT_SYMLINK_NOFOLLOW) < 0)
		before.st_size = 0;
	error = write_file(folder_fd, pieces);
	trace_settle(trace, size, error < 0 ? 0 : size);
	if (!error)
		trace_give(trace, (uint64_t)before.st_size);
	return error;
}

void manifest_file_remove(int folder_fd)
{
	unlinkat(folder_fd, TEMPORARY_NAME, 0);
	unlinkat(folder_fd, MANIFEST_NAME, 0);
}
