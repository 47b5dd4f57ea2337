// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/fio_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "escape.h"
#include "export/fio_files.h"
#include "output/new_file.h"

#define ENDING ".files"
#define LIST   "/names.csv"

enum {
	DIGITS = 8, /* of a name, with the slash before it */
	FILE_MODE = 0600,
};

/* fio may be started elsewhere, so the absolute path is better, unless that has what a log cannot have. */
static const char *choose_base(const struct fio_folder *folder)
{
	const char *const bases[] = { folder->absolute, folder->path };

	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		if (fio_takes(bases[i]) && strlen(bases[i]) + DIGITS <= FIO_NAME_MAX)
			return bases[i];
	return NULL;
}

void fio_folder_init(struct fio_folder *folder, const char *log)
{
	_cleanup_free_ char *parent = NULL, *whole = NULL;
	const char *slash = log ? strrchr(log, '/') : NULL;

	*folder = (struct fio_folder){ 0 };
	if (!log || snprintf(folder->path, sizeof(folder->path), "%s" ENDING, log) >= (int)sizeof(folder->path))
		return;
	parent = slash ? strndup(log, (size_t)(slash + 1 - log)) : strdup(".");
	whole = parent ? realpath(parent, NULL) : NULL;
	if (!whole || snprintf(folder->absolute, sizeof(folder->absolute), "%s/%s" ENDING, strcmp(whole, "/") ? whole : "",
			       slash ? slash + 1 : log) >= (int)sizeof(folder->absolute))
		folder->absolute[0] = '\0';
	folder->base = choose_base(folder);
}

static int begin(struct fio_folder *folder)
{
	char path[PATH_MAX + sizeof(LIST)];
	int r = new_folder_open(&folder->folder, folder->path);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s" LIST, folder->folder.temporary);
	folder->list = fopen(path, "wxe");
	if (!folder->list)
		return -errno;
	fputs("name,path\n", folder->list);
	return 0;
}

/* A file of the size that reads need; without blocks. One that is too large for the file system stays shorter. */
static int make_file(const char *path, uint64_t size)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);

	if (fd < 0)
		return -errno;
	if (size <= INT64_MAX && ftruncate(fd, (off_t)size) < 0 && errno != EFBIG && errno != EINVAL)
		return -errno;
	return 0;
}

static int note(struct fio_folder *folder, const char *last)
{
	_cleanup_free_ char *cell = malloc(ESCAPE_MAX(strlen(last)) + 1);

	if (!cell)
		return -ENOMEM;
	cell[escape_field(last, strlen(last), cell)] = '\0';
	fprintf(folder->list, "%" PRIu32 ",%s\n", folder->count, cell);
	return new_file_error(folder->list);
}

int fio_folder_add(struct fio_folder *folder, const char *target, const char *last, uint64_t size, char *name, size_t room)
{
	char path[PATH_MAX + DIGITS + 1];
	int r = folder->base ? 0 : -ENOENT;

	if (!r && !folder->list)
		r = begin(folder);
	if (r < 0)
		return r;
	folder->count++;
	snprintf(path, sizeof(path), "%s/%" PRIu32, folder->folder.temporary, folder->count);
	snprintf(name, room, "%s/%" PRIu32, folder->base, folder->count);
	if (!target)
		r = make_file(path, size);
	else if (symlink(target, path) < 0)
		r = -errno;
	return r < 0 ? r : note(folder, last);
}

int fio_folder_keep(struct fio_folder *folder)
{
	int r = 0;

	if (!folder->list)
		return 0;
	if (fclose(folder->list))
		r = -errno;
	folder->list = NULL;
	return r < 0 ? r : new_folder_keep(&folder->folder);
}

void fio_folder_done(struct fio_folder *folder, bool remove)
{
	if (folder->list)
		fclose(folder->list);
	folder->list = NULL;
	if (remove && folder->count && !folder->folder.temporary[0])
		folder_remove(folder->path, true);
	new_folder_done(&folder->folder);
}
