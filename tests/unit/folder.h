/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A temporary folder of a test, and a look at the files below it. */
#pragma once

#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
	char path[64];
	int fd;
};

static inline void folder_begin(struct folder *folder)
{
	strcpy(folder->path, "/tmp/iotracer_test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder->path));
	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(folder->fd, 0);
}

static inline int folder_remove_entry(const char *path, const struct stat *status, int type,
				      struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

static inline void folder_end(struct folder *folder)
{
	close(folder->fd);
	nftw(folder->path, folder_remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void folder_put_bytes(const struct folder *folder, const char *path, const void *data, size_t size)
{
	int fd = openat(folder->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_msg(fd >= 0, "%s cannot be made", path);
	ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
	close(fd);
}

/* Writes a file, and makes the folders above it. */
static inline void folder_put(const struct folder *folder, const char *path, const char *text)
{
	char above[512];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
		mkdirat(folder->fd, above, 0755);
	}
	folder_put_bytes(folder, path, text, strlen(text));
}

static inline bool folder_has(const struct folder *folder, const char *path)
{
	return !faccessat(folder->fd, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* The file's bytes with a NUL behind them, to be freed. */
static inline char *folder_read(const struct folder *folder, const char *path, size_t *size)
{
	int fd = openat(folder->fd, path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	char *text;

	ck_assert_msg(fd >= 0, "%s is missing", path);
	ck_assert_int_eq(fstat(fd, &status), 0);
	text = malloc((size_t)status.st_size + 1);
	ck_assert_int_eq(read(fd, text, (size_t)status.st_size), status.st_size);
	text[status.st_size] = '\0';
	close(fd);
	if (size)
		*size = (size_t)status.st_size;
	return text;
}

/* Lines of a file, which has to end with a whole one. */
static inline uint64_t folder_lines(const struct folder *folder, const char *path)
{
	size_t size;
	char *text = folder_read(folder, path, &size);
	uint64_t lines = 0;

	ck_assert(size && text[size - 1] == '\n');
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	free(text);
	return lines;
}
