// SPDX-License-Identifier: GPL-2.0-or-later
/* A trace as its writer knows it: shares of the limits, what is reported of segments, and the end. */
#include "storage_private.h"

#include <stdio.h>

#include "log.h"

#define SEGMENT_SHARE 8		    /* part of a limit that a segment may take, as retention removes whole segments */
#define SEGMENT_MIN   4096
#define TABLE_SHARE   8	 /* the same of the table of cgroups, which stands beside its older copy while it is written */
#define LISTED_SHARE  64  /* part of a limit that the manifest may use to list removed segments */
#define LISTED_BYTES  400 /* bytes for each of them */
#define LISTED_LEAST  8
#define LISTED_MOST   1000

static uint64_t least_limit(const struct trace *trace)
{
	const struct storage *storage = trace->storage;
	uint64_t limit = trace->keep_size ?: UINT64_MAX, share;

	if (!trace->counted || !storage->limits.max_use)
		return limit;
	share = storage->limits.max_use / (storage->running ?: 1);
	return share < limit ? share : limit;
}

/* The limit divided by `part`; UINT64_MAX: there is no limit. */
static uint64_t limit_share(struct trace *trace, unsigned int part)
{
	uint64_t limit;

	if (!trace)
		return UINT64_MAX;
	pthread_mutex_lock(&trace->storage->lock);
	limit = least_limit(trace);
	pthread_mutex_unlock(&trace->storage->lock);
	return limit == UINT64_MAX ? limit : limit / part;
}

/* The same for each of its streams. */
static uint64_t stream_share(struct trace *trace, unsigned int part)
{
	uint64_t share = limit_share(trace, part);

	return share == UINT64_MAX ? share : share / (unsigned int)__builtin_popcount(trace->streams);
}

uint64_t trace_table_limit(struct trace *trace)
{
	return limit_share(trace, TABLE_SHARE);
}

uint64_t trace_segment_limit(struct trace *trace)
{
	uint64_t limit = stream_share(trace, SEGMENT_SHARE);

	return limit < SEGMENT_MIN ? SEGMENT_MIN : limit;
}

unsigned int trace_removed_listed(struct trace *trace)
{
	uint64_t count = stream_share(trace, LISTED_SHARE) / LISTED_BYTES;

	if (count < LISTED_LEAST)
		return LISTED_LEAST;
	return count < LISTED_MOST ? (unsigned int)count : LISTED_MOST;
}

void trace_grown(struct trace *trace, uint64_t bytes)
{
	if (!trace || !bytes)
		return;
	pthread_mutex_lock(&trace->storage->lock);
	trace->others = true;
	trace_use(trace, bytes);
	pthread_cond_signal(&trace->storage->work);
	pthread_mutex_unlock(&trace->storage->lock);
}

void trace_counts(struct trace *trace, struct trace_counts *counts)
{
	*counts = (struct trace_counts){ 0 };
	if (!trace)
		return;
	pthread_mutex_lock(&trace->storage->lock);
	counts->used = trace->used;
	counts->waiting = trace->waiting;
	pthread_mutex_unlock(&trace->storage->lock);
}

void trace_closing(struct trace *trace, enum iotr_stream stream)
{
	struct kept *kept;
	unsigned int count;

	if (!trace || !trace->keep_segments)
		return;
	pthread_mutex_lock(&trace->storage->lock);
	for (;;) {
		count = 0;
		TAILQ_FOREACH (kept, &trace->kept[stream], entry)
			count++;
		kept = kept_oldest(&trace->kept[stream], clocks_mono_ns());
		if (count < trace->keep_segments || !kept || !trace_remove(trace, kept, IOTR_REMOVAL_KEEP_SEGMENTS))
			break;
	}
	pthread_mutex_unlock(&trace->storage->lock);
}

void trace_closed(struct trace *trace, enum iotr_stream stream, unsigned int number, const char *name, uint64_t bytes,
		  uint64_t rows)
{
	struct kept kept = {
		.state = KEPT_PLAIN,
		.stream = stream,
		.number = number,
		.bytes = bytes,
		.rows = rows,
		.text = bytes,
	};

	if (!trace)
		return;
	kept.closed_ns = clocks_realtime_ns();
	snprintf(kept.name, sizeof(kept.name), "%s", name);
	pthread_mutex_lock(&trace->storage->lock);
	if (trace->compress) {
		kept.state = KEPT_WAITING;
		pthread_cond_signal(&trace->storage->work);
	}
	if (kept_add(trace, &kept) < 0)
		log_error("%s: out of memory: %s is neither compressed nor removed", trace->path, name);
	pthread_mutex_unlock(&trace->storage->lock);
}

void trace_notify(struct trace *trace, int eventfd)
{
	if (!trace)
		return;
	pthread_mutex_lock(&trace->storage->lock);
	trace->eventfd = eventfd;
	pthread_mutex_unlock(&trace->storage->lock);
}

void trace_ended(struct trace *trace)
{
	if (!trace)
		return;
	pthread_mutex_lock(&trace->storage->lock);
	trace->eventfd = -1;
	if (!trace->ended)
		trace->storage->running -= trace->counted;
	trace->ended = true;
	trace->ended_ns = clocks_realtime_ns();
	pthread_cond_signal(&trace->storage->work);
	pthread_mutex_unlock(&trace->storage->lock);
}

void trace_forget(struct trace *trace)
{
	struct kept *kept;

	if (!trace)
		return;
	pthread_mutex_lock(&trace->storage->lock);
	while ((kept = trace_oldest(trace)) && trace_remove(trace, kept, IOTR_REMOVAL_UNRECORDED))
		;
	trace_unuse(trace, trace->used);
	pthread_mutex_unlock(&trace->storage->lock);
	marks_remove(trace, true);
}

void trace_free(struct trace *trace)
{
	struct storage *storage;

	if (!trace)
		return;
	storage = trace->storage;
	trace_ended(trace);
	pthread_mutex_lock(&storage->lock);
	trace_unref(trace);
	pthread_mutex_unlock(&storage->lock);
}
