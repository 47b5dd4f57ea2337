// SPDX-License-Identifier: GPL-2.0-or-later
#include "mountinfo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

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

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* "\040" is a space. */
static char *unescape(const char *text)
{
	char *copy = strdup(text), *to = copy;

	for (const char *from = copy; from && *from;) {
		if (from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) && is_octal(from[3])) {
			*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	if (to)
		*to = '\0';
	return copy;
}

static void entry_done(struct mountinfo_entry *entry)
{
	free(entry->path);
	free(entry->type);
	free(entry->source);
	free(entry->options);
}

/* Behind any number of optional words, which a dash ends. */
static char *after_options(char *rest)
{
	char *dash;

	if (!rest || !strncmp(rest, "- ", 2))
		return rest ? rest + 2 : NULL;
	dash = strstr(rest, " - ");
	return dash ? dash + 3 : NULL;
}

/* "36 35 98:0 /root /mnt rw,noatime shared:1 - ext4 /dev/root rw" */
static int parse_line(char *line, struct mountinfo_entry *entry)
{
	char *words[6], *rest = line, *tail;

	for (size_t i = 0; i < 6; i++)
		if (!(words[i] = strsep(&rest, " ")))
			return -EBADMSG;
	tail = after_options(rest);
	if (!tail || sscanf(words[2], "%u:%u", &entry->major, &entry->minor) != 2)
		return -EBADMSG;
	*entry = (struct mountinfo_entry){
		.path = unescape(words[4]),
		.type = unescape(strsep(&tail, " ")),
		.source = unescape(strsep(&tail, " ") ?: ""),
		.options = strdup(words[5]),
		.major = entry->major,
		.minor = entry->minor,
	};
	if (entry->path && entry->type && entry->source && entry->options)
		return 0;
	entry_done(entry);
	return -ENOMEM;
}

static int add(struct mountinfo *mounts, const struct mountinfo_entry *entry)
{
	struct mountinfo_entry *grown;

	if (!(mounts->count & (mounts->count - 1))) {
		grown = reallocarray(mounts->entries, mounts->count ? 2 * mounts->count : 1,
				     sizeof(*grown));
		if (!grown)
			return -ENOMEM;
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

/* Of equal paths the last. */
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
	_cleanup_free_ char *line = NULL;
	struct mountinfo_entry entry;
	size_t size = 0;
	ssize_t length;

	*mounts = (struct mountinfo){ 0 };
	if (!stream)
		return -errno;
	while ((length = getline(&line, &size, stream)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (parse_line(line, &entry) < 0)
			continue;
		if (add(mounts, &entry) < 0) {
			entry_done(&entry);
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
