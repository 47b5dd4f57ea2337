// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/paths_aliases.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "mount_list.h"
#include "tree.h"

#define ALIASES_MAX 64	 /* as each takes nodes that other sessions may need */
#define ENTRIES_MAX 4096 /* of a folder, among which links are looked for */

struct search {
	const char *real;
	int (*found)(const char *path, void *userdata);
	void *userdata;
	unsigned int count;
};

/* Whether a path is the folder, or below it; `rest` is then what follows, which is empty or begins with a slash. */
static bool is_within(const char *path, const char *folder, const char **rest)
{
	size_t length = strcmp(folder, "/") ? strlen(folder) : 0;

	*rest = path + length;
	return !strncmp(path, folder, length) && (!**rest || **rest == '/');
}

/*
 * The path `to` shows what `from` is. Tells the path by which `of` is reached through it, or `to` itself, if all of that lies
 * in `of`.
 */
static int alias_add(struct search *search, const char *of, const char *from, const char *to)
{
	char path[PATH_MAX];
	const char *rest;

	if (!is_within(of, from, &rest)) {
		if (!is_within(from, of, &rest))
			return 0;
		rest = "";
	}
	if ((size_t)snprintf(path, sizeof(path), "%s%s", *rest && !strcmp(to, "/") ? "" : to, rest) >= sizeof(path) ||
	    !strcmp(path, search->real) || search->count == ALIASES_MAX)
		return 0;
	search->count++;
	return search->found(path, search->userdata);
}

/* ---- mounts ---- */

static uint64_t mount_of(const char *path)
{
	_cleanup_close_ int fd = tree_open(path, O_PATH);
	struct statx st;

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 || !(st.stx_mask & STATX_MNT_ID))
		return 0;
	return st.stx_mnt_id;
}

/* Where a path lies in its file system; the mount that it is on is `ret`. */
static bool inner_path(const struct search *search, struct mount_list *list, struct mount_entry *ret, char *inner, size_t size)
{
	uint64_t mount = mount_of(search->real);
	const char *rest;

	while (mount && mount_list_next(list, ret))
		if (ret->id == mount && is_within(search->real, ret->path, &rest))
			return (size_t)snprintf(inner, size, "%s%s", *rest && !strcmp(ret->root, "/") ? "" : ret->root, rest) < size;
	return false;
}

static int through_mounts(struct search *search)
{
	_cleanup_(mount_list_done) struct mount_list list, others = { 0 };
	struct mount_entry own, other;
	char inner[PATH_MAX];
	int r = 0;

	if (mount_list_read(NULL, &list) < 0 || !inner_path(search, &list, &own, inner, sizeof(inner)))
		return 0;
	if (mount_list_read(NULL, &others) >= 0)
		while (r >= 0 && mount_list_next(&others, &other))
			if (other.device == own.device && other.id != own.id)
				r = alias_add(search, inner, other.root, other.path);
	return r;
}

/* ---- symbolic links ---- */

/* Takes "." and ".." out of an absolute path, as text. */
static void path_reduce(char *path)
{
	char *to = path, *part, *rest = path;

	while ((part = strsep(&rest, "/"))) {
		if (!strcmp(part, "..")) {
			while (to > path && *--to != '/')
				;
		} else if (*part && strcmp(part, ".")) {
			size_t length = strlen(part);

			memmove(to + 1, part, length);
			*to = '/';
			to += 1 + length;
		}
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

/*
 * Whether the text of a link names what is looked for, or a part of it or what it is in. Other links are not followed: they are
 * anybody's, and may lead to what does not answer.
 */
static bool link_names(const struct search *search, const char *folder, int entries, const char *name)
{
	char text[PATH_MAX], path[2 * PATH_MAX];
	ssize_t length = readlinkat(entries, name, text, sizeof(text));
	const char *rest;

	if (length <= 0 || length == sizeof(text))
		return false;
	snprintf(path, sizeof(path), "%s/%.*s", *text == '/' ? "" : folder, (int)length, text);
	path_reduce(path);
	return is_within(search->real, path, &rest) || is_within(path, search->real, &rest);
}

static int through_link(struct search *search, const char *folder, int entries, const char *name)
{
	_cleanup_free_ char *target = NULL;
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", strcmp(folder, "/") ? folder : "", name) >= sizeof(path) ||
	    !link_names(search, folder, entries, name))
		return 0;
	target = tree_real_path(path);
	return target ? alias_add(search, search->real, target, path) : 0;
}

static int through_links_in(struct search *search, const char *folder)
{
	int fd = tree_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!entries && fd >= 0)
		close(fd);
	for (int i = 0; entries && r >= 0 && i < ENTRIES_MAX && (entry = readdir(entries)); i++)
		if (entry->d_type == DT_LNK)
			r = through_link(search, folder, dirfd(entries), entry->d_name);
	if (entries)
		closedir(entries);
	return r;
}

static int through_links(struct search *search)
{
	char folder[PATH_MAX];
	const char *rest;
	int r = is_within(search->real, "/var", &rest) ? 0 : through_links_in(search, "/var");

	snprintf(folder, sizeof(folder), "%s", search->real);
	while (r >= 0 && folder[1]) {
		char *slash = strrchr(folder, '/');

		slash[slash == folder] = '\0';
		r = through_links_in(search, folder);
	}
	return r;
}

int paths_aliases(const char *real, int (*found)(const char *path, void *userdata), void *userdata)
{
	struct search search = { real, found, userdata, 0 };
	int r;

	if (!strcmp(real, "/"))
		return 0; /* all that has a path is below it */
	r = through_mounts(&search);
	return r < 0 ? r : through_links(&search);
}
