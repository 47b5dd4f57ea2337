// SPDX-License-Identifier: GPL-2.0-or-later
#include "mountinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Adds a mount. */
static int add(struct mountinfo *mounts, const struct mount_entry *mount)
{
	struct mountinfo_entry *grown;

	if (!(mounts->count & (mounts->count - 1))) {
		grown = reallocarray(mounts->entries, mounts->count ? 2 * mounts->count : 1,
				     sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		mounts->entries = grown;
	}
	mounts->entries[mounts->count] = (struct mountinfo_entry){ *mount, mounts->count };
	mounts->count++;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct mountinfo_entry *a = left, *b = right;

	return strcmp(a->mount.path, b->mount.path) ?: (a->order > b->order) - (a->order < b->order);
}

/* Keeps the last entry of those with equal paths. */
static void keep_topmost(struct mountinfo *mounts)
{
	size_t kept = 0;

	for (size_t i = 0; i < mounts->count; i++)
		if (i + 1 == mounts->count ||
		    strcmp(mounts->entries[i].mount.path, mounts->entries[i + 1].mount.path))
			mounts->entries[kept++] = mounts->entries[i];
	mounts->count = kept;
}

int mountinfo_read(const char *file, struct mountinfo *mounts)
{
	struct mount_entry mount;
	int r;

	*mounts = (struct mountinfo){ 0 };
	r = mount_list_read(file, &mounts->list);
	while (r >= 0 && mount_list_next(&mounts->list, &mount))
		r = add(mounts, &mount);
	if (r < 0) {
		mountinfo_done(mounts);
		return r;
	}
	if (mounts->count)
		qsort(mounts->entries, mounts->count, sizeof(*mounts->entries), compare);
	keep_topmost(mounts);
	return 0;
}

void mountinfo_done(struct mountinfo *mounts)
{
	mount_list_done(&mounts->list);
	free(mounts->entries);
	*mounts = (struct mountinfo){ 0 };
}

const struct mount_entry *mountinfo_of(const struct mountinfo *mounts, const char *path)
{
	const struct mount_entry *best = NULL;
	size_t best_length = 0;

	for (size_t i = 0; i < mounts->count; i++) {
		const char *at = mounts->entries[i].mount.path;
		size_t length = strcmp(at, "/") ? strlen(at) : 0;

		if (!strncmp(path, at, length) && (!path[length] || path[length] == '/') &&
		    (!best || length > best_length)) {
			best = &mounts->entries[i].mount;
			best_length = length;
		}
	}
	return best;
}

const struct mount_entry *mountinfo_at(const struct mountinfo *mounts, const char *path,
					   size_t length)
{
	size_t low = 0, high = mounts->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const char *at = mounts->entries[middle].mount.path;
		int order = strncmp(path, at, length) ?: -(int)(at[length] != '\0');

		if (!order)
			return &mounts->entries[middle].mount;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

size_t mountinfo_below(const struct mountinfo *mounts, const char *path, size_t length)
{
	size_t low = 0, high = mounts->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const char *at = mounts->entries[middle].mount.path;
		int order = strncmp(at, path, length) ?: (at[length] ? (unsigned char)at[length] - '/' : -1);

		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
