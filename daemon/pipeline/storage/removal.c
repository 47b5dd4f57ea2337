// SPDX-License-Identifier: GPL-2.0-or-later
/* Removing: a closed segment, or the whole folder of a trace. */
#include "storage_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "entries.h"
#include "log.h"
#include "rest.h"
#include "tree.h"

#define RETRY_NS 1000000000ULL /* after a file could not be removed */

/* Removes every name that the segment may have, behind a mark that says so. 0, -ENOENT when there was none, or another negative errno. */
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
	else
		mark_make(trace, folder, kept);
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

bool trace_remove(struct trace *trace, struct kept *kept, enum iotr_removal limit)
{
	struct storage *storage = trace->storage;
	uint64_t bytes = kept->bytes;
	struct visit visit;
	int error;

	kept_set_state(trace, kept, KEPT_REMOVING);
	kept->limit = limit;
	atomic_store(&kept->unwanted, true);
	if (kept->held)
		rest_ends(kept->held);
	visit_begin(&visit, trace, VISIT_REMOVAL);
	trace->leaving += bytes;
	pthread_mutex_unlock(&storage->lock);
	error = unlink_names(trace, kept);
	pthread_mutex_lock(&storage->lock);
	trace->leaving -= bytes;
	if (error && error != -ENOENT) {
		log_message(ABOUT(STORAGE_WAITS, .output = trace->path, .error = -error),
			    "%s: %s cannot be removed, and is tried again: %s", trace->path, kept->name,
			    strerror(-error));
		kept_set_state(trace, kept, KEPT_PLAIN);
		kept->stuck_ns = clocks_mono_ns() + RETRY_NS;
	} else {
		log_debug("%s: %s removed by retention", trace->path, kept->name);
		if (kept->held && trace->device == storage->device)
			storage->lingering += kept->lingers = bytes;
		forget(trace, kept, !error);
	}
	pthread_cond_broadcast(&storage->gone);
	visit_end(&visit);
	return !error || error == -ENOENT;
}

static bool remove_below(int parent, const char *name, unsigned int depth)
{
	_cleanup_(closedirp) DIR *folder = entries_open(parent, name);
	const struct dirent *entry;

	while (folder && (entry = entries_next_of_all(folder)))
		if (unlinkat(dirfd(folder), entry->d_name, 0) < 0 && errno == EISDIR &&
		    depth < ENTRIES_DEPTH_MAX)
			remove_below(dirfd(folder), entry->d_name, depth + 1);
	return !unlinkat(parent, name, AT_REMOVEDIR) || errno == ENOENT;
}

bool trace_remove_folder(struct trace *trace)
{
	struct storage *storage = trace->storage;
	_cleanup_close_ int above = -1;
	const char *name;
	bool done;

	trace->references++;
	pthread_mutex_unlock(&storage->lock);
	above = tree_open_above(trace->path, &name);
	done = above < 0 ? errno == ENOENT : remove_below(above, name, 0);
	pthread_mutex_lock(&storage->lock);
	if (done) {
		log_info("%s: folder removed, as retention had left no rows of it", trace->path);
		trace_unuse(trace, trace->used);
	}
	trace_unref(trace);
	return done;
}
