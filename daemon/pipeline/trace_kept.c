// SPDX-License-Identifier: GPL-2.0-or-later
/* The closed segments of a trace, and what became of them. */
#include "storage_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "inside.h"
#include "log.h"
#include "schema.h"

#define RETRY_NS     1000000000ULL /* after a file could not be removed */
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static bool waits(enum kept_state state)
{
	return state == KEPT_UNHASHED || state == KEPT_WAITING || state == KEPT_COMPRESSING;
}

void kept_set_state(struct trace *trace, struct kept *kept, enum kept_state state)
{
	trace->waiting -= waits(kept->state);
	kept->state = state;
	trace->waiting += waits(kept->state);
}

int kept_add(struct trace *trace, const struct kept *kept)
{
	struct kept *added = malloc(sizeof(*added));

	if (!added)
		return -ENOMEM;
	*added = *kept;
	trace->waiting += waits(kept->state);
	TAILQ_INSERT_TAIL(&trace->kept[kept->stream], added, entry);
	return 0;
}

void kept_put(struct kept *kept)
{
	if (kept->state == KEPT_REMOVED && !kept->changed && !kept->held)
		free(kept);
}

/* Notes a change of the segment, and wakes the thread that writes the manifest: the writer's, or a keeper. */
void kept_note(struct trace *trace, struct kept *kept)
{
	if (kept->changed)
		return;
	kept->changed = true;
	TAILQ_INSERT_TAIL(&trace->changes, kept, change);
	atomic_fetch_add(&trace->change_count, 1);
	if (trace->eventfd >= 0)
		eventfd_write(trace->eventfd, 1);
	else
		pthread_cond_signal(&trace->storage->work);
}

bool trace_has_changes(const struct trace *trace)
{
	return trace && atomic_load(&trace->change_count);
}

bool trace_next_change(struct trace *trace, struct trace_change *change)
{
	struct kept *kept;

	if (!trace_has_changes(trace))
		return false;
	pthread_mutex_lock(&trace->storage->lock);
	kept = TAILQ_FIRST(&trace->changes);
	if (kept) {
		TAILQ_REMOVE(&trace->changes, kept, change);
		atomic_fetch_sub(&trace->change_count, 1);
		kept->changed = false;
		*change = (struct trace_change){
			.stream = kept->stream,
			.number = kept->number,
			.removed = kept->state == KEPT_REMOVED,
			.stored = kept->state == KEPT_REMOVED ? 0 : kept->bytes,
		};
		kept_put(kept);
	}
	pthread_mutex_unlock(&trace->storage->lock);
	return kept;
}

struct kept *kept_oldest(const struct kept_list *list, uint64_t now)
{
	struct kept *kept;

	TAILQ_FOREACH (kept, list, entry)
		if (kept->state != KEPT_REMOVING && kept->stuck_ns <= now)
			return kept;
	return NULL;
}

struct kept *trace_oldest(const struct trace *trace)
{
	uint64_t now = clocks_mono_ns();
	struct kept *oldest = NULL;

	for (int stream = 0; !trace->untouched && stream < IOTR_STREAM_COUNT; stream++) {
		struct kept *kept = kept_oldest(&trace->kept[stream], now);

		if (kept && (!oldest || kept->closed_ns < oldest->closed_ns))
			oldest = kept;
	}
	return oldest;
}

int trace_open(const struct trace *trace)
{
	_cleanup_close_ int fd = trace->folder_fd >= 0 ? openat(trace->folder_fd, ".", FOLDER_FLAGS)
						       : open(trace->path, FOLDER_FLAGS);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	return status.st_ino == trace->inode && status.st_dev == trace->device ? take_fd(&fd) : -ENOENT;
}

int trace_open_stream(const struct trace *trace, enum iotr_stream stream)
{
	_cleanup_close_ int folder = trace_open(trace);

	return folder < 0 ? folder : inside_folder(folder, iotr_schemas[stream].folder);
}

/* Removes every name that the segment may have. 0, -ENOENT when there was none, or another negative errno. */
static int unlink_names(struct trace *trace, const struct kept *kept)
{
	static const enum segment_ending endings[] = { SEGMENT_PLAIN, SEGMENT_PACKED, SEGMENT_PACKED_PART };
	const struct rights *before;
	int folder, result = -ENOENT;

	pthread_mutex_lock(&trace->files);
	before = rights_use(trace_rights(trace));
	folder = trace_open_stream(trace, kept->stream);
	if (folder < 0)
		result = folder;
	for (size_t i = 0; folder >= 0 && i < sizeof(endings) / sizeof(endings[0]); i++) {
		char name[SEGMENT_FILE_MAX];

		snprintf(name, sizeof(name), "%s%s", kept->name, segment_endings[endings[i]]);
		if (!unlinkat(folder, name, 0))
			result = 0;
		else if (errno != ENOENT)
			result = -errno;
	}
	rights_use(before);
	pthread_mutex_unlock(&trace->files);
	if (folder >= 0)
		close(folder);
	return result;
}

/* The segment's files are gone; `by_us`: we removed them, which is noted as a change. */
static void forget(struct trace *trace, struct kept *kept, bool by_us)
{
	trace_unuse(trace, kept->bytes + kept->packed);
	TAILQ_REMOVE(&trace->kept[kept->stream], kept, entry);
	kept_set_state(trace, kept, KEPT_REMOVED);
	if (by_us || kept->changed)
		kept_note(trace, kept);
	kept_put(kept);
}

bool trace_remove(struct trace *trace, struct kept *kept)
{
	struct storage *storage = trace->storage;
	uint64_t bytes = kept->bytes;
	struct visit visit;
	int error;

	kept_set_state(trace, kept, KEPT_REMOVING);
	visit_begin(&visit, trace, VISIT_REMOVAL);
	trace->leaving += bytes;
	pthread_mutex_unlock(&storage->lock);
	error = unlink_names(trace, kept);
	pthread_mutex_lock(&storage->lock);
	trace->leaving -= bytes;
	if (error && error != -ENOENT) {
		log_warning("%s: %s cannot be removed: %s", trace->path, kept->name,
			    strerror(-error));
		kept_set_state(trace, kept, KEPT_PLAIN);
		kept->stuck_ns = clocks_mono_ns() + RETRY_NS;
	} else {
		log_debug("%s: %s removed", trace->path, kept->name);
		forget(trace, kept, !error);
	}
	pthread_cond_broadcast(&storage->gone);
	visit_end(&visit);
	return !error || error == -ENOENT;
}
