// SPDX-License-Identifier: GPL-2.0-or-later
#include "manifest_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "trace.h"
#include "write_all.h"

#define TEMPORARY_NAME MANIFEST_NAME ".tmp"
#define MODE	       0640

/* What a failed write left is of no use. */
static int write_file(int folder_fd, const char *text, size_t size)
{
	_cleanup_close_ int fd = -1;
	int error;

	if (unlinkat(folder_fd, TEMPORARY_NAME, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(folder_fd, TEMPORARY_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    MODE);
	if (fd < 0)
		return -errno;
	error = write_all(fd, text, size);
	if (!error && renameat(folder_fd, TEMPORARY_NAME, folder_fd, MANIFEST_NAME) < 0)
		error = -errno;
	if (error < 0)
		unlinkat(folder_fd, TEMPORARY_NAME, 0);
	return error;
}

int manifest_file_replace(int folder_fd, struct trace *trace, const char *text, size_t size)
{
	struct stat before = { 0 };
	int error = trace_take(trace, size, TRACE_ROOM_OLDEST);

	if (error < 0)
		return error;
	if (fstatat(folder_fd, MANIFEST_NAME, &before, AT_SYMLINK_NOFOLLOW) < 0)
		before.st_size = 0;
	error = write_file(folder_fd, text, size);
	trace_settle(trace, size, error < 0 ? 0 : size);
	if (!error)
		trace_give(trace, (uint64_t)before.st_size);
	return error;
}

int manifest_file_replace_json(int folder_fd, struct trace *trace, struct json_object *manifest)
{
	size_t size;
	const char *text = json_object_to_json_string_length(manifest, MANIFEST_STYLE, &size);

	return text ? manifest_file_replace(folder_fd, trace, text, size) : -ENOMEM;
}

void manifest_file_remove(int folder_fd)
{
	unlinkat(folder_fd, TEMPORARY_NAME, 0);
	unlinkat(folder_fd, MANIFEST_NAME, 0);
}
