// SPDX-License-Identifier: GPL-2.0-or-later
/* What a trace holds: its bytes, its closed segments, and the list of what became of them. Nothing here asks a disk. */
#include "storage_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

void trace_use(struct trace *trace, uint64_t bytes)
{
	trace->used += bytes;
	if (trace->counted)
		trace->storage->used += bytes;
}

void trace_unuse(struct trace *trace, uint64_t bytes)
{
	trace->used -= bytes;
	if (trace->counted)
		trace->storage->used -= bytes;
}

static bool waits(enum kept_state state)
{
	return state == KEPT_WAITING || state == KEPT_COMPRESSING;
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

/* The thread that writes the manifest knows of the removal. */
static void mark_told(struct trace *trace, const struct kept *kept)
{
	struct mark *mark;

	SLIST_FOREACH (mark, &trace->marks, entry)
		mark->told |= mark->stream == kept->stream && mark->number == kept->number;
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
			.limit = kept->limit,
			.stored = kept->state == KEPT_REMOVED ? 0 : kept->bytes,
		};
		if (change->removed)
			mark_told(trace, kept);
		memcpy(change->stored_sha256, kept->stored_sha256, sizeof(change->stored_sha256));
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
