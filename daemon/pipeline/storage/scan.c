// SPDX-License-Identifier: GPL-2.0-or-later
/* What earlier sessions left below the log folder: LOG_DIR/NAME/START with a manifest.json. */
#include "storage_private.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup_table.h"
#include "cleanup.h"
#include "entries.h"
#include "manifest_file.h"
#include "schema.h"
#include "segment_mark.h"
#include "tree.h"

static enum iotr_stream stream_of_folder(const char *name)
{
	int stream = 0;

	while (stream < IOTR_STREAM_COUNT && strcmp(iotr_schemas[stream].folder, name))
		stream++;
	return (enum iotr_stream)stream;
}

static int by_number(const void *a, const void *b)
{
	unsigned int first = (*(struct kept *const *)a)->number, second = (*(struct kept *const *)b)->number;

	return (first > second) - (first < second);
}

/* Brings the segments into the order of their numbers, as a folder is read in no order. */
static void sort(struct kept_list *list)
{
	_cleanup_free_ struct kept **all = NULL;
	struct kept *kept;
	size_t count = 0;

	TAILQ_FOREACH (kept, list, entry)
		count++;
	all = malloc(count * sizeof(*all));
	if (!all) /* out of memory, or there are none: they are taken in the order in which they were found */
		return;
	count = 0;
	while ((kept = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, kept, entry);
		all[count++] = kept;
	}
	qsort(all, count, sizeof(*all), by_number);
	for (size_t i = 0; i < count; i++)
		TAILQ_INSERT_TAIL(list, all[i], entry);
}

/*
 * Removes what a killed compressor left: half a file, or, between its last two steps, the text
 * file, as the .gz is complete then. True: this file was removed.
 */
static bool clean(int folder, const char *file, const struct segment_name *segment)
{
	char packed[SEGMENT_FILE_MAX];

	if (segment->ending == SEGMENT_PACKED_PART)
		return !unlinkat(folder, file, 0);
	if (segment->ending != SEGMENT_PLAIN)
		return false;
	snprintf(packed, sizeof(packed), "%s%s", segment->name, segment_endings[SEGMENT_PACKED]);
	return !faccessat(folder, packed, F_OK, AT_SYMLINK_NOFOLLOW) && !unlinkat(folder, file, 0);
}

static void keep(struct trace *trace, enum iotr_stream stream, const struct segment_name *segment,
		 const struct stat *status)
{
	struct kept kept = {
		.stream = stream,
		.state = segment->ending == SEGMENT_PACKED ? KEPT_COMPRESSED : KEPT_PLAIN,
		.number = segment->number,
		.bytes = (uint64_t)status->st_size,
		.closed_ns = (uint64_t)status->st_mtim.tv_sec * 1000000000 + (uint64_t)status->st_mtim.tv_nsec,
	};

	strcpy(kept.name, segment->name);
	/* A file with a second hard link, which would be outside the folder, stays as it is. */
	if (trace->compress && kept.state == KEPT_PLAIN && status->st_nlink == 1 && status->st_uid == geteuid())
		kept.state = KEPT_WAITING;
	kept_add(trace, &kept);
}

/*
 * Adds a file of the folder of a stream, or of another one, which `goes`: a trace of which nothing else is left may be removed as a
 * whole.
 */
static void scan_file(struct trace *trace, int folder, const char *name, const struct stat *status,
		      enum iotr_stream stream, bool goes)
{
	struct segment_name segment;
	bool is_segment = stream < IOTR_STREAM_COUNT && segment_name_parse(iotr_schemas[stream].folder, name, &segment);

	if (is_segment && clean(folder, name, &segment))
		return;
	if (!S_ISREG(status->st_mode))
		return;
	trace_use(trace, (uint64_t)status->st_size);
	trace->others |= !goes && strcmp(name, MANIFEST_NAME);
	if (is_segment && (segment.ending == SEGMENT_PLAIN || segment.ending == SEGMENT_PACKED))
		keep(trace, stream, &segment, status);
}

static bool has_segment(const struct trace *trace, enum iotr_stream stream, unsigned int number)
{
	const struct kept *kept;

	TAILQ_FOREACH (kept, &trace->kept[stream], entry)
		if (kept->number == number)
			return true;
	return false;
}

/* Takes what was removed without the manifest being told. A mark of a segment that is still there is of no removal. */
static void scan_marks(struct trace *trace, int parent, const char *name, enum iotr_stream stream)
{
	_cleanup_(closedirp) DIR *folder = entries_open(parent, name);
	const struct dirent *entry;

	while (folder && (entry = entries_next_of_all(folder))) {
		struct segment_mark mark;

		if (!segment_mark_parse(iotr_schemas[stream].folder, entry->d_name, &mark))
			continue;
		if (has_segment(trace, stream, mark.segment.number))
			unlinkat(dirfd(folder), entry->d_name, 0);
		else
			mark_add(trace, entry->d_name, &mark, stream);
	}
}

static void scan_folder(struct trace *trace, int parent, const char *name, unsigned int depth)
{
	_cleanup_(closedirp) DIR *folder = entries_open(parent, name);
	enum iotr_stream stream = depth == 1 ? stream_of_folder(name) : IOTR_STREAM_COUNT;
	bool goes = stream < IOTR_STREAM_COUNT || (depth == 1 && !strcmp(name, CGROUPS_FOLDER));
	const struct dirent *entry;

	while (folder && (entry = entries_next(folder))) {
		struct stat status;

		if (fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!S_ISDIR(status.st_mode))
			scan_file(trace, dirfd(folder), entry->d_name, &status, stream, goes);
		else if (depth < ENTRIES_DEPTH_MAX)
			scan_folder(trace, dirfd(folder), entry->d_name, depth + 1);
	}
	if (stream < IOTR_STREAM_COUNT)
		sort(&trace->kept[stream]);
	if (stream < IOTR_STREAM_COUNT && !trace->recovering)
		scan_marks(trace, parent, name, stream);
}

static bool is_one_of(const struct stat *folder, const char *const *paths)
{
	struct stat status;

	for (; paths && *paths; paths++)
		if (!tree_lstat(*paths, &status) && status.st_dev == folder->st_dev &&
		    status.st_ino == folder->st_ino)
			return true;
	return false;
}

/* Adds the trace of a session's folder. One that is to be recovered may have no manifest yet. */
static void scan_trace(struct storage *storage, int parent, const char *name, const char *start,
		       const char *const *recovered)
{
	char manifest[NAME_MAX + sizeof(MANIFEST_NAME) + 1];
	struct stat folder, status = { 0 };
	struct trace *trace;
	bool recovering;
	char *path;

	snprintf(manifest, sizeof(manifest), "%s/" MANIFEST_NAME, start);
	if (fstatat(parent, start, &folder, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(folder.st_mode))
		return;
	recovering = is_one_of(&folder, recovered);
	if (fstatat(parent, manifest, &status, AT_SYMLINK_NOFOLLOW) < 0 && !recovering)
		return;
	if (asprintf(&path, "%s/%s/%s", storage->log_dir, name, start) < 0)
		return;
	trace = trace_alloc(storage, folder.st_dev, true);
	if (!trace) {
		free(path);
		return;
	}
	trace->path = path;
	trace->inode = folder.st_ino;
	trace->recovering = recovering;
	trace->references = recovering;
	trace->ended = true;
	trace->ended_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000;
	scan_folder(trace, parent, start, 0);
}

void storage_scan(struct storage *storage, const char *const *recovered)
{
	_cleanup_close_ int folder_fd = tree_open(storage->log_dir, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	_cleanup_(closedirp) DIR *top = folder_fd < 0 ? NULL : entries_open(folder_fd, ".");
	const struct dirent *name, *start;
	struct stat status;

	if (!top || fstat(dirfd(top), &status) < 0)
		return;
	storage->device = status.st_dev;
	while ((name = entries_next(top))) {
		_cleanup_(closedirp) DIR *folder = entries_open(dirfd(top), name->d_name);

		while (folder && (start = entries_next(folder)))
			scan_trace(storage, dirfd(folder), name->d_name, start->d_name, recovered);
	}
}

/* ---- folders that have been recovered ---- */

/*
 * The trace of a folder that was recovered, of which nothing is being removed when this returns;
 * NULL: there is none. Call with the lock held.
 */
static struct trace *hold(struct storage *storage, const struct stat *folder)
{
	struct trace *trace;

	TAILQ_FOREACH (trace, &storage->traces, entry)
		if (trace->recovering && trace->device == folder->st_dev &&
		    trace->inode == folder->st_ino)
			break;
	if (!trace)
		return NULL;
	trace->untouched = true;
	while (trace->references > 1)
		pthread_cond_wait(&storage->gone, &storage->lock);
	return trace;
}

/* Moves to the trace what was found by scanning it again; `found` is empty then. */
static void take_over(struct trace *trace, struct trace *found)
{
	struct kept *kept;

	trace_unuse(trace, trace->used);
	trace_use(trace, found->used);
	trace->others = found->others;
	trace->compress = found->compress;
	trace->waiting = found->waiting;
	atomic_fetch_add(&trace->change_count, atomic_load(&found->change_count));
	TAILQ_CONCAT(&trace->changes, &found->changes, change);
	marks_move(trace, found);
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		while ((kept = TAILQ_FIRST(&trace->kept[stream]))) {
			TAILQ_REMOVE(&trace->kept[stream], kept, entry);
			free(kept);
		}
		TAILQ_CONCAT(&trace->kept[stream], &found->kept[stream], entry);
	}
}

void storage_recovered(struct storage *storage, const char *path, bool compress)
{
	_cleanup_close_ int fd = -1;
	struct trace *trace, found;
	struct stat folder;

	if (tree_lstat(path, &folder) < 0)
		return;
	pthread_mutex_lock(&storage->lock);
	trace = hold(storage, &folder);
	pthread_mutex_unlock(&storage->lock);
	if (!trace)
		return;
	trace_init(&found, storage, trace->device, false);
	found.compress = compress;
	fd = tree_open(trace->path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
	if (fd >= 0)
		scan_folder(&found, fd, ".", 0);
	pthread_mutex_lock(&storage->lock);
	take_over(trace, &found);
	trace->recovering = trace->untouched = false;
	trace->ended_ns = clocks_realtime_ns();
	trace_unref(trace);
	pthread_cond_signal(&storage->work);
	pthread_mutex_unlock(&storage->lock);
	pthread_mutex_destroy(&found.files);
}
