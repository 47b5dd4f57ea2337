// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MODE 0600 /* names of files are in it */

/* Without a name, where the file system can: then nothing is left behind, however this program ends. */
static int open_unnamed(const char *path, int access)
{
	char folder[PATH_MAX] = ".";
	const char *slash = strrchr(path, '/');

	if (slash && snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path), path) >= (int)sizeof(folder))
		return -1;
	return open(folder, O_TMPFILE | access | O_CLOEXEC, FILE_MODE);
}

FILE *new_file_scratch(const char *path)
{
	int fd = open_unnamed(path, O_RDWR);
	FILE *stream = fd < 0 ? tmpfile() : fdopen(fd, "w+");

	if (!stream && fd >= 0)
		close(fd);
	return stream;
}

static int open_named(struct new_file *file)
{
	int fd = -1;

	if ((size_t)snprintf(file->temporary, sizeof(file->temporary), "%s.XXXXXX", file->path) < sizeof(file->temporary))
		fd = mkostemp(file->temporary, O_CLOEXEC);
	else
		errno = ENAMETOOLONG;
	if (fd < 0)
		file->temporary[0] = '\0';
	return fd;
}

int new_file_open(struct new_file *file, const char *path, bool force)
{
	int fd;

	*file = (struct new_file){ .path = path, .force = force };
	if (!strcmp(path, "-")) {
		file->path = NULL;
		file->stream = stdout;
		return 0;
	}
	if (!force && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	/* What is written over is replaced by a name. */
	fd = force ? -1 : open_unnamed(path, O_WRONLY);
	if (fd < 0)
		fd = open_named(file);
	if (fd < 0)
		return -errno;
	file->stream = fdopen(fd, "w");
	if (file->stream)
		return 0;
	close(fd);
	return -ENOMEM;
}

int new_file_error(FILE *stream)
{
	return !ferror(stream) ? 0 : errno ? -errno : -EIO;
}

/* Names a file that has none. */
static int give_name(const struct new_file *file)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fileno(file->stream));
	return linkat(AT_FDCWD, link, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int take_name(const struct new_file *file)
{
	if (!file->temporary[0])
		return give_name(file);
	if (file->force)
		return rename(file->temporary, file->path) < 0 ? -errno : 0;
	if (renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0)
		return 0;
	/* Not every file system can; most of those have links. */
	if (errno != EINVAL || link(file->temporary, file->path) < 0)
		return -errno;
	unlink(file->temporary);
	return 0;
}

int new_file_keep(struct new_file *file, uint64_t *size)
{
	int r = new_file_error(file->stream);

	if (!r && fflush(file->stream))
		r = -errno;
	*size = 0;
	if (r < 0 || !file->path)
		return r;
	*size = (uint64_t)ftello(file->stream);
	r = take_name(file);
	if (!r)
		file->temporary[0] = '\0';
	return r;
}

void new_file_done(struct new_file *file)
{
	if (file->temporary[0])
		unlink(file->temporary);
	if (file->path && file->stream)
		fclose(file->stream);
	file->stream = NULL;
	file->temporary[0] = '\0';
}
