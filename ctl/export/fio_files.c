// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/fio_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"

#define DEVICES	 "/dev/"
#define DELETED	 " (deleted)"
#define UNNAMED	 "/#" /* how the name of a file begins that was made without one, which it may get later */
#define ARROW	 " -> "
#define NAMES_MAX ((size_t)4 * FIO_FILES_MAX)

enum { IDENTITY_SIZE = 64 };

/* ---- paths ---- */

struct path {
	char text[PATH_MAX];
	size_t length;
	bool deleted;
};

/* Undoes the escapes. The kernel's word for a slash in the name of a disk is '!'. False: too long, or with a NUL. */
static bool decode(struct trace_text from, bool disk, struct path *path)
{
	for (size_t taken; from.length; from.at += taken, from.length -= taken) {
		unsigned char byte;

		taken = escape_undo(from.at, from.length, &byte);
		if (!byte || path->length + 1 >= sizeof(path->text))
			return false;
		path->text[path->length++] = disk && byte == '!' ? '/' : (char)byte;
	}
	path->text[path->length] = '\0';
	return true;
}

/* Whether no part of the path leads elsewhere; it is looked at as it will be used, as whoever made the trace up can escape. */
static bool leads_straight(const char *path)
{
	while (*path == '/') {
		size_t length = strcspn(++path, "/");

		if (!length || (length == 1 && *path == '.') || (length == 2 && !memcmp(path, "..", 2)))
			return false;
		path += length;
	}
	return !*path;
}

static void strip_deleted(struct path *path)
{
	size_t mark = strlen(DELETED);

	path->deleted = path->length > mark && !strcmp(path->text + path->length - mark, DELETED);
	if (!path->deleted)
		return;
	path->length -= mark;
	path->text[path->length] = '\0';
}

static bool read_path(struct trace_text from, bool disk, struct path *path)
{
	path->length = disk ? strlen(DEVICES) : 0;
	memcpy(path->text, DEVICES, path->length);
	if (!from.length || !decode(from, disk, path) || !leads_straight(path->text))
		return false;
	path->deleted = false;
	if (!disk)
		strip_deleted(path);
	return true;
}

/* ---- tables ---- */

static int make_room(struct fio_place **places, size_t *room, size_t count)
{
	size_t more = *room ? 2 * *room : 1024;
	struct fio_place *grown;

	if (count < *room)
		return 0;
	grown = reallocarray(*places, more, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + *room, 0, (more - *room) * sizeof(*grown));
	*places = grown;
	*room = more;
	return 0;
}

static int64_t number_of_path(struct fio_files *files, const struct path *path)
{
	if (make_room(&files->by_path, &files->path_room, files->paths.count) < 0)
		return -ENOMEM;
	return export_names_number(&files->paths, (struct trace_text){ path->text, path->length }, NAMES_MAX);
}

/* -ENOENT: the row does not say which file it is. */
static int64_t number_of_identity(struct fio_files *files, const struct export_row *row)
{
	char key[IDENTITY_SIZE];
	int length;

	if (row->stream == IOTR_BLOCK || !row->device.length || !row->inode.length ||
	    row->device.length + row->inode.length + 2 > sizeof(key))
		return -ENOENT;
	length = snprintf(key, sizeof(key), "%.*s %.*s", (int)row->device.length, row->device.at, (int)row->inode.length,
			  row->inode.at);
	if (make_room(&files->by_identity, &files->identity_room, files->identities.count) < 0)
		return -ENOMEM;
	return export_names_number(&files->identities, (struct trace_text){ key, (size_t)length }, NAMES_MAX);
}

static int64_t add(struct fio_files *files, bool anonymous)
{
	if (files->count == FIO_FILES_MAX)
		return -E2BIG;
	if (files->count == files->room) {
		size_t room = files->room ? 2 * files->room : 1024;
		struct fio_file *grown = reallocarray(files->files, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		files->files = grown;
		files->room = room;
	}
	files->files[files->count] = (struct fio_file){ .anonymous = anonymous };
	return (int64_t)files->count++;
}

/* ---- which file ---- */

/*
 * The file and 1 that the identity means now; 0: none yet. An inode whose file was removed and that turns up under a name which is
 * not one of that file's is of a new one.
 */
static uint32_t by_identity(struct fio_files *files, int64_t identity, const struct fio_place *path, const struct path *name)
{
	uint32_t file = files->by_identity[identity].file;

	if (file && files->files[file - 1].gone && !name->deleted && path->file != file)
		file = 0;
	/* Until now only rows without identity were seen of it. */
	if (!file && !name->deleted && path->file && files->files[path->file - 1].anonymous) {
		file = path->file;
		files->files[file - 1].anonymous = false;
	}
	return file;
}

static bool is_unnamed(const struct path *path)
{
	const char *slash = strrchr(path->text, '/');

	return slash && !strncmp(slash, UNNAMED, strlen(UNNAMED));
}

static void note_name(struct fio_files *files, uint32_t number, uint32_t path, const struct path *name)
{
	struct fio_file *file = &files->files[number];

	file->path = path;
	if (!name->deleted) {
		files->by_path[path].file = number + 1;
		return;
	}
	file->gone |= !is_unnamed(name);
	if (files->by_path[path].file == number + 1)
		files->by_path[path].file = 0;
}

int64_t fio_files_number(struct fio_files *files, const struct export_row *row)
{
	bool disk = row->stream == IOTR_BLOCK;
	int64_t path, identity, number;
	struct path name;
	uint32_t file;

	if (!read_path(disk ? row->disk : row->file, disk, &name))
		return -EINVAL;
	path = number_of_path(files, &name);
	identity = number_of_identity(files, row);
	if (path < 0 || (identity < 0 && identity != -ENOENT))
		return path < 0 ? path : identity;
	file = identity < 0 ? files->by_path[path].file : by_identity(files, identity, &files->by_path[path], &name);
	number = file ? (int64_t)file - 1 : add(files, identity < 0);
	if (number < 0)
		return number;
	if (identity >= 0)
		files->by_identity[identity].file = (uint32_t)number + 1;
	note_name(files, (uint32_t)number, (uint32_t)path, &name);
	return number;
}

/* ---- names that come and go ---- */

static void remove_name(struct fio_files *files, int64_t path)
{
	uint32_t file = files->by_path[path].file;

	if (file)
		files->files[file - 1].gone = true;
	files->by_path[path].file = 0;
}

static void give_name(struct fio_files *files, int64_t path, uint32_t file)
{
	files->by_path[path].file = file;
	if (file)
		files->files[file - 1].path = (uint32_t)path;
}

static void rename_it(struct fio_files *files, int64_t from, int64_t to, bool exchange)
{
	uint32_t moved = files->by_path[from].file, other = files->by_path[to].file;

	if (from == to || (moved && moved == other))
		return;
	if (!exchange)
		remove_name(files, to);
	give_name(files, to, moved);
	give_name(files, from, exchange ? other : 0);
}

/* The two paths of a row that has two; an arrow within a name is escaped. */
static int follow_two(struct fio_files *files, const struct export_row *row)
{
	const char *arrow = memmem(row->file.at, row->file.length, ARROW, strlen(ARROW));
	struct path from, to;
	struct trace_text second;
	int64_t old, new;

	if (!arrow)
		return 0;
	second.at = arrow + strlen(ARROW);
	second.length = (size_t)(row->file.at + row->file.length - second.at);
	if (!read_path((struct trace_text){ row->file.at, (size_t)(arrow - row->file.at) }, false, &from) ||
	    !read_path(second, false, &to))
		return 0;
	old = number_of_path(files, &from);
	new = old < 0 ? old : number_of_path(files, &to);
	if (new < 0)
		return new == -ENOMEM ? -ENOMEM : 0;
	if (trace_text_is(row->operation, "LINK"))
		files->by_path[new].file = files->by_path[old].file;
	else
		rename_it(files, old, new, memmem(row->flags.at, row->flags.length, "EXCHANGE", strlen("EXCHANGE")));
	return 0;
}

int fio_files_follow(struct fio_files *files, const struct export_row *row)
{
	struct path path;
	int64_t number;

	if (row->failed || row->stream != IOTR_VFS)
		return 0;
	if (trace_text_is(row->operation, "RENAME") || trace_text_is(row->operation, "LINK"))
		return follow_two(files, row);
	if (!trace_text_is(row->operation, "UNLINK") || !read_path(row->file, false, &path))
		return 0;
	number = number_of_path(files, &path);
	if (number >= 0)
		remove_name(files, number);
	return number == -ENOMEM ? -ENOMEM : 0;
}

/* ---- what came of it ---- */

const char *fio_files_last(const struct fio_files *files, uint32_t file)
{
	return files->paths.texts[files->files[file].path];
}

const char *fio_files_path(const struct fio_files *files, uint32_t file)
{
	return files->by_path[files->files[file].path].file == file + 1 ? fio_files_last(files, file) : NULL;
}

bool fio_takes(const char *name)
{
	size_t length = 0;

	for (; name[length]; length++)
		if ((unsigned char)name[length] <= ' ' || name[length] == 0x7f)
			return false;
	return length && length <= FIO_NAME_MAX;
}

void fio_files_done(struct fio_files *files)
{
	export_names_done(&files->paths);
	export_names_done(&files->identities);
	free(files->by_path);
	free(files->by_identity);
	free(files->files);
}
