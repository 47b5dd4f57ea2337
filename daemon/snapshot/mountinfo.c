// SPDX-License-Identifier: GPL-2.0-or-later
#include "mountinfo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "mount_line.h"

static const char *const pseudo_types[] = {
	"proc",	    "sysfs",	"cgroup",     "cgroup2",    "devpts",	"debugfs",    "tracefs",
	"bpf",	    "pstore",	"efivarfs",   "securityfs", "mqueue",	"configfs",   "fusectl",
	"selinuxfs", "autofs",	"binfmt_misc", "nsfs",	    "devtmpfs", "rpc_pipefs", "hugetlbfs",
	"resctrl",  "smackfs",	"nfsd",	      "binder",	    "sockfs",	"pipefs",     "bdev",
};

bool mountinfo_pseudo(const char *type)
{
	for (size_t i = 0; i < sizeof(pseudo_types) / sizeof(pseudo_types[0]); i++)
		if (!strcmp(pseudo_types[i], type))
			return true;
	return false;
}

static void entry_done(struct mountinfo_entry *entry)
{
	free(entry->path);
	free(entry->type);
	free(entry->source);
	free(entry->options);
}

static int entry_fill(struct mountinfo_entry *entry, const struct mount_line *line)
{
	*entry = (struct mountinfo_entry){
		.path = strdup(line->point),
		.type = strdup(line->type),
		.source = strdup(line->source),
		.options = strdup(line->options),
		.major = line->major,
		.minor = line->minor,
	};
	if (entry->path && entry->type && entry->source && entry->options)
		return 0;
	entry_done(entry);
	return -ENOMEM;
}

/* Adds the entry, of which it takes ownership. */
static int add(struct mountinfo *mounts, struct mountinfo_entry *entry)
{
	struct mountinfo_entry *grown;

	if (!(mounts->count & (mounts->count - 1))) {
		grown = reallocarray(mounts->entries, mounts->count ? 2 * mounts->count : 1,
				     sizeof(*grown));
		if (!grown) {
			entry_done(entry);
			return -ENOMEM;
		}
		mounts->entries = grown;
	}
	mounts->entries[mounts->count] = *entry;
	mounts->entries[mounts->count].order = mounts->count;
	mounts->count++;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct mountinfo_entry *a = left, *b = right;

	return strcmp(a->path, b->path) ?: (a->order > b->order) - (a->order < b->order);
}

/* Keeps the last entry of those with equal paths. */
static void keep_topmost(struct mountinfo *mounts)
{
	size_t kept = 0;

	for (size_t i = 0; i < mounts->count; i++)
		if (i + 1 < mounts->count &&
		    !strcmp(mounts->entries[i].path, mounts->entries[i + 1].path))
			entry_done(&mounts->entries[i]);
		else
			mounts->entries[kept++] = mounts->entries[i];
	mounts->count = kept;
}

int mountinfo_read(const char *file, struct mountinfo *mounts)
{
	_cleanup_fclose_ FILE *stream = fopen(file ?: "/proc/self/mountinfo", "re");
	_cleanup_free_ char *text = NULL;
	struct mountinfo_entry entry;
	struct mount_line line;
	size_t size = 0;

	*mounts = (struct mountinfo){ 0 };
	if (!stream)
		return -errno;
	while (getline(&text, &size, stream) > 0) {
		if (!mount_line_read(text, &line))
			continue;
		if (entry_fill(&entry, &line) < 0 || add(mounts, &entry) < 0) {
			mountinfo_done(mounts);
			return -ENOMEM;
		}
	}
	if (mounts->count)
		qsort(mounts->entries, mounts->count, sizeof(*mounts->entries), compare);
	keep_topmost(mounts);
	return 0;
}

void mountinfo_done(struct mountinfo *mounts)
{
	for (size_t i = 0; i < mounts->count; i++)
		entry_done(&mounts->entries[i]);
	free(mounts->entries);
	*mounts = (struct mountinfo){ 0 };
}

const struct mountinfo_entry *mountinfo_of(const struct mountinfo *mounts, const char *path)
{
	const struct mountinfo_entry *best = NULL;
	size_t best_length = 0;

	for (size_t i = 0; i < mounts->count; i++) {
		const char *at = mounts->entries[i].path;
		size_t length = strcmp(at, "/") ? strlen(at) : 0;

		if (!strncmp(path, at, length) && (!path[length] || path[length] == '/') &&
		    (!best || length > best_length)) {
			best = &mounts->entries[i];
			best_length = length;
		}
	}
	return best;
}

const struct mountinfo_entry *mountinfo_at(const struct mountinfo *mounts, const char *path,
					   size_t length)
{
	size_t low = 0, high = mounts->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const char *at = mounts->entries[middle].path;
		int order = strncmp(path, at, length) ?: -(int)(at[length] != '\0');

		if (!order)
			return &mounts->entries[middle];
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
		const char *at = mounts->entries[middle].path;
		int order = strncmp(at, path, length) ?: (at[length] ? (unsigned char)at[length] - '/' : -1);

		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
