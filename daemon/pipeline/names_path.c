// SPDX-License-Identifier: GPL-2.0-or-later
#include "names_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELETED	       " (deleted)"
#define DELETED_LENGTH (sizeof(DELETED) - 1)

static void set_unknown(struct path *path)
{
	path_set(path, PATH_UNKNOWN, strlen(PATH_UNKNOWN));
}

static bool build(struct names *names, struct name *name, unsigned int depth);

/* Begins the path with that of the parent; false when a part of it is unknown for now. */
static bool build_parent(struct names *names, const struct name *name, unsigned int depth)
{
	struct name *parent = table_get(&names->by_id, name->parent);

	if (!parent || depth >= NAMES_DEPTH_MAX) {
		set_unknown(&names->path);
		return parent;
	}
	parent->used = true;
	if (parent->path_epoch == names->epoch) {
		path_set(&names->path, parent->path, parent->base_length);
		return true;
	}
	return build(names, parent, depth + 1);
}

/* A file that has never been in a folder, on a file system that is mounted nowhere: memfd and its like. */
static bool is_in_no_folder(const struct name *name)
{
	return !name->parent && name->length && name->text[0] != '/' &&
	       (!strcmp(name->fs_type, "tmpfs") || !strcmp(name->fs_type, "hugetlbfs") ||
		!strcmp(name->fs_type, "secretmem"));
}

/* Builds the path of a file that has a number instead of a name, as /proc shows it; false for other files. */
static bool build_numbered(struct path *path, const struct name *name)
{
	char text[64];

	if (!strcmp(name->fs_type, "pipefs"))
		snprintf(text, sizeof(text), "pipe:[%" PRIu64 "]", name->inode);
	else if (!strcmp(name->fs_type, "sockfs"))
		snprintf(text, sizeof(text), "socket:[%" PRIu64 "]", name->inode);
	else if (!strcmp(name->fs_type, "nsfs")) /* the namespace's kind is not known */
		snprintf(text, sizeof(text), "nsfs:[%" PRIu64 "]", name->inode);
	else if (!strcmp(name->fs_type, "pidfs"))
		snprintf(text, sizeof(text), "anon_inode:[pidfd]");
	else
		return false;
	path_set_text(path, text, strlen(text));
	return true;
}

/* Builds the path of a file that has a name of its own; the root of a file system has none. */
static void build_named(struct path *path, const struct name *name)
{
	char text[IOTR_NAME_TEXT_MAX + 16];
	const char *before = is_in_no_folder(name) ? "/" : "";

	if (!strcmp(name->fs_type, "anon_inodefs"))
		before = "anon_inode:";
	if (!name->length)
		before = "/";
	path_set_text(path, text, (size_t)snprintf(text, sizeof(text), "%s%.*s", before, name->length, name->text));
}

/* A name without a parent: a root, a file that is in no folder, or the text of a symbolic link. */
static void build_orphan(struct path *path, const struct name *name)
{
	if (name->flags & IOTR_NAME_ARGUMENT)
		path_set_text(path, name->text, name->length);
	else if (!build_numbered(path, name))
		build_named(path, name);
}

static bool build_base(struct names *names, const struct name *name, unsigned int depth)
{
	bool complete = true;

	if (!name->parent && !(name->flags & IOTR_NAME_CUT)) {
		build_orphan(&names->path, name);
		return true;
	}
	if (name->flags & IOTR_NAME_CUT)
		set_unknown(&names->path);
	else
		complete = build_parent(names, name, depth);
	if (name->flags & IOTR_NAME_ARGUMENT)
		path_append_user(&names->path, name->text, name->length);
	else if (name->length)
		path_append(&names->path, name->text, name->length);
	return complete;
}

static void keep_path(struct names *names, struct name *name, char *copy, size_t length)
{
	struct pool *pool = name_pool(names, name->flags);
	size_t before = name_size(name), grown;

	free(name->path);
	name->path = copy;
	name->path_length = (uint32_t)length;
	grown = name_size(name) - before;
	pool->bytes += grown;
	if (name->dying)
		pool->dying_bytes += grown;
}

/* Keeps the built path with its name; one that is not complete is built anew at the next use. */
static void cache(struct names *names, struct name *name, bool complete)
{
	const struct path *path = &names->path;
	size_t mark = name->flags & IOTR_NAME_DELETED || is_in_no_folder(name) ? DELETED_LENGTH : 0;
	char *copy = malloc(path->length + mark + 1);

	if (!copy)
		return;
	memcpy(copy, path->text, path->length);
	memcpy(copy + path->length, DELETED, mark);
	keep_path(names, name, copy, path->length + mark);
	name->base_length = path->length;
	name->path_epoch = complete ? names->epoch : 0;
}

/* Builds the path: in names->path without the mark of a deleted file, in the name with it. */
static bool build(struct names *names, struct name *name, unsigned int depth)
{
	bool complete = build_base(names, name, depth);

	cache(names, name, complete);
	return complete;
}

bool name_describe(struct names *names, struct name *name, struct names_path *path)
{
	bool complete = name->path_epoch == names->epoch || build(names, name, 0);

	if (!name->path)
		return false;
	*path = (struct names_path){
		.text = name->path,
		.length = name->path_length,
		.device = name->device,
		.fs_type = name->fs_type,
		.complete = complete,
	};
	if (!name->used)
		name->used = true;
	return true;
}
