// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Room: whether a thread may write so many bytes within all limits, and which segments are removed for that. A thread
 * removes segments on its own disk only, so that it never waits for another one.
 */
#include "storage_private.h"

#include <errno.h>
#include <sys/statvfs.h>

#define WAIT_NS 500000000ULL  /* for a removal by another thread */
#define ASK_NS	2000000000ULL /* for removals by keepers from another disk */
#define SLACK	(64 * 1024)   /* a file system needs more than a file's bytes */

enum limit { LIMIT_NONE, LIMIT_SESSION, LIMIT_MAX_USE, LIMIT_KEEP_FREE };

static const enum iotr_removal removals[] = {
	[LIMIT_SESSION] = IOTR_REMOVAL_KEEP_SIZE,
	[LIMIT_MAX_USE] = IOTR_REMOVAL_MAX_USE,
	[LIMIT_KEEP_FREE] = IOTR_REMOVAL_KEEP_FREE,
};

/* A request to write, by a trace's thread. */
struct request {
	struct trace *trace;
	uint64_t bytes;
	enum trace_room room;
	const struct kept *packed; /* the segment that is being compressed, or NULL */
	uint64_t free;		   /* free bytes of the file system */
	uint64_t deadline;	   /* CLOCK_MONOTONIC: end of waiting for a removal */
	uint64_t asks_until;	   /* the same, for keepers */
};

static uint64_t free_bytes(const struct trace *trace)
{
	struct statvfs status;

	if (trace->device != trace->storage->device || trace->folder_fd < 0 ||
	    fstatvfs(trace->folder_fd, &status) < 0)
		return UINT64_MAX;
	return (uint64_t)status.f_bavail * status.f_frsize;
}

/* Free bytes of the file system. The disk is asked without the lock, and only where keep_free is set. */
static uint64_t free_if_limited(const struct trace *trace)
{
	struct storage *storage = trace->storage;
	bool limited;

	pthread_mutex_lock(&storage->lock);
	limited = storage->limits.keep_free;
	pthread_mutex_unlock(&storage->lock);
	return limited ? free_bytes(trace) : UINT64_MAX;
}

/* Adds to the bytes that are taken and not written yet. */
static void fly(struct trace *trace, int64_t bytes)
{
	trace->in_flight += (uint64_t)bytes;
	if (trace->device == trace->storage->device)
		trace->storage->in_flight += (uint64_t)bytes;
}

/* By how much the bytes in use would be above the limit. */
static uint64_t excess_of(uint64_t used, uint64_t bytes, uint64_t limit)
{
	return limit && used + bytes > limit ? used + bytes - limit : 0;
}

/* The limit that the request would exceed, and how many bytes have to be removed for it. */
static enum limit find_limit(struct request *request, uint64_t *excess)
{
	const struct trace *trace = request->trace;
	struct storage *storage = trace->storage;
	uint64_t keep_free = storage->limits.keep_free;

	*excess = excess_of(trace->used, request->bytes, trace->keep_size);
	if (*excess)
		return LIMIT_SESSION;
	if (trace->counted)
		*excess = excess_of(storage->used, request->bytes, storage->limits.max_use);
	if (*excess)
		return LIMIT_MAX_USE;
	if (!keep_free || request->free == UINT64_MAX)
		return LIMIT_NONE;
	if (request->free >= keep_free + storage->in_flight + request->bytes + SLACK) {
		storage->credit = 0;
		return LIMIT_NONE;
	}
	if (storage->credit >= request->bytes) {
		storage->credit -= request->bytes;
		return LIMIT_NONE;
	}
	*excess = request->bytes - storage->credit;
	return LIMIT_KEEP_FREE;
}

/*
 * The trace with the oldest segment, among those that the limit is about. Those on disks that do not answer are
 * skipped, but for the disk of `own`, the trace that asks, as its thread waits for that disk in any case; NULL:
 * none asks.
 */
static struct trace *oldest_trace(const struct storage *storage, enum limit limit, const struct trace *own)
{
	struct trace *trace, *oldest = NULL;
	uint64_t least = UINT64_MAX;

	TAILQ_FOREACH (trace, &storage->traces, entry) {
		const struct kept *kept;

		if (limit == LIMIT_MAX_USE ? !trace->counted : trace->device != storage->device)
			continue;
		kept = trace_oldest(trace);
		if (!kept || kept->closed_ns >= least)
			continue;
		if ((!own || own->device != trace->device) && disk_is_silent(storage, trace->device))
			continue;
		least = kept->closed_ns;
		oldest = trace;
	}
	return oldest;
}

/*
 * The trace on this disk that ended first, of those below the log folder that have ended and have
 * no rows any more.
 */
static struct trace *emptied_trace(const struct storage *storage, dev_t device)
{
	struct trace *trace, *oldest = NULL;

	TAILQ_FOREACH (trace, &storage->traces, entry) {
		bool empty = trace->ended && trace->counted && !trace->references &&
			     !trace->others && !trace_has_changes(trace) && trace->used && trace->device == device;

		for (int stream = 0; empty && stream < IOTR_STREAM_COUNT; stream++)
			empty = TAILQ_EMPTY(&trace->kept[stream]);
		if (empty && (!oldest || trace->ended_ns < oldest->ended_ns))
			oldest = trace;
	}
	return oldest;
}

/* Removes such a folder, whose manifest lists removed rows alone, when there is nothing else to remove. */
static bool remove_emptied(const struct request *request, enum limit limit)
{
	struct storage *storage = request->trace->storage;
	struct trace *trace;

	if (request->room == TRACE_ROOM_NONE || request->packed || limit == LIMIT_SESSION)
		return false;
	trace = emptied_trace(storage, request->trace->device);
	return trace && trace_remove_folder(trace);
}

static struct trace *find_victim(const struct request *request, enum limit limit)
{
	struct trace *trace = request->trace;
	const struct kept *packed = request->packed, *oldest;

	if (request->room == TRACE_ROOM_NONE || (packed && trace->ended))
		return NULL;
	if (limit != LIMIT_SESSION && !packed)
		return oldest_trace(trace->storage, limit, trace);
	oldest = trace_oldest(trace);
	return oldest && (!packed || oldest->closed_ns < packed->closed_ns) ? trace : NULL;
}

static bool wait_gone(struct storage *storage, uint64_t deadline)
{
	struct timespec until = { (time_t)(deadline / 1000000000), (long)(deadline % 1000000000) };

	return !pthread_cond_timedwait(&storage->gone, &storage->lock, &until);
}

/* Bytes that are being removed from one disk, of traces that count for the machine's limits. */
static uint64_t leaving_from(const struct storage *storage, dev_t device)
{
	const struct trace *trace;
	uint64_t bytes = 0;

	TAILQ_FOREACH (trace, &storage->traces, entry)
		if (trace->counted && trace->device == device)
			bytes += trace->leaving;
	return bytes;
}

/*
 * Has a keeper remove the segment, as it is on another disk, which may not answer; then that disk
 * is skipped the next time. False: the time for that has passed.
 */
static bool ask_keepers(const struct request *request)
{
	struct storage *storage = request->trace->storage;

	if (storage->wanted < request->bytes)
		storage->wanted = request->bytes;
	pthread_cond_signal(&storage->work);
	wait_gone(storage, clocks_mono_ns() + WAIT_NS);
	return clocks_mono_ns() < request->asks_until;
}

/* Removes a segment, or waits for one that is being removed. False: there is none. */
static bool make_room(const struct request *request, enum limit limit, uint64_t excess)
{
	struct trace *victim, *trace = request->trace;
	struct storage *storage = trace->storage;
	uint64_t leaving, freed;
	struct kept *oldest;

	/* Keepers close removed files soon; without that wait more segments would go than have to. */
	if (limit == LIMIT_KEEP_FREE && storage->lingering && wait_gone(storage, request->deadline))
		return true;
	leaving = limit == LIMIT_SESSION ? trace->leaving : leaving_from(storage, trace->device);
	if (leaving && leaving >= excess)
		return wait_gone(storage, request->deadline);
	victim = find_victim(request, limit);
	if (!victim)
		return leaving ? wait_gone(storage, request->deadline)
			       : remove_emptied(request, limit);
	if (victim->device != trace->device)
		return ask_keepers(request);
	oldest = trace_oldest(victim);
	/* A file that is open keeps its space until it is closed. */
	freed = oldest->held ? 0 : oldest->bytes;
	if (trace_remove(victim, oldest, removals[limit]) && limit == LIMIT_KEEP_FREE)
		storage->credit += freed;
	return true;
}

/* Returns with the lock held. */
static int take_locked(struct request *request)
{
	struct storage *storage = request->trace->storage;
	enum limit limit;
	uint64_t excess;

	request->deadline = clocks_mono_ns() + WAIT_NS;
	request->asks_until = clocks_mono_ns() + ASK_NS;
	for (;;) {
		request->free = free_if_limited(request->trace);
		pthread_mutex_lock(&storage->lock);
		if (request->packed && request->packed->state != KEPT_COMPRESSING)
			return -ECANCELED;
		limit = find_limit(request, &excess);
		if (limit == LIMIT_NONE)
			break;
		if (!make_room(request, limit, excess)) {
			if (request->room == TRACE_ROOM_ALWAYS)
				break;
			return limit == LIMIT_SESSION ? -EDQUOT : -ENOSPC;
		}
		pthread_mutex_unlock(&storage->lock);
	}
	trace_use(request->trace, request->bytes);
	fly(request->trace, (int64_t)request->bytes);
	return 0;
}

int trace_take(struct trace *trace, uint64_t bytes, enum trace_room room)
{
	struct request request = { .trace = trace, .bytes = bytes, .room = room };
	int error;

	if (!trace)
		return 0;
	error = take_locked(&request);
	pthread_mutex_unlock(&trace->storage->lock);
	return error;
}

void trace_settle(struct trace *trace, uint64_t taken, uint64_t kept)
{
	if (!trace)
		return;
	pthread_mutex_lock(&trace->storage->lock);
	fly(trace, -(int64_t)taken);
	trace_unuse(trace, taken - kept);
	pthread_mutex_unlock(&trace->storage->lock);
}

void trace_give(struct trace *trace, uint64_t bytes)
{
	if (!trace)
		return;
	pthread_mutex_lock(&trace->storage->lock);
	trace_unuse(trace, bytes < trace->used ? bytes : trace->used);
	pthread_mutex_unlock(&trace->storage->lock);
}

int trace_take_packed(struct trace *trace, struct kept *kept, uint64_t bytes)
{
	struct request request = { .trace = trace, .bytes = bytes, .packed = kept };
	int error = take_locked(&request);

	if (!error)
		kept->packed += bytes;
	pthread_mutex_unlock(&trace->storage->lock);
	return error;
}

void trace_settle_packed(struct trace *trace, struct kept *kept, uint64_t taken, uint64_t written)
{
	pthread_mutex_lock(&trace->storage->lock);
	fly(trace, -(int64_t)taken);
	if (kept->state == KEPT_COMPRESSING) { /* otherwise all of it was given back */
		kept->packed -= taken - written;
		trace_unuse(trace, taken - written);
	}
	pthread_mutex_unlock(&trace->storage->lock);
}

/* ---- for the keepers ---- */

uint64_t room_excess(const struct storage *storage)
{
	uint64_t excess = excess_of(storage->used, storage->wanted, storage->limits.max_use), leaving = 0;
	const struct trace *trace;

	if (!excess)
		return 0;
	TAILQ_FOREACH (trace, &storage->traces, entry)
		if (trace->counted && trace->leaving && !disk_is_silent(storage, trace->device))
			leaving += trace->leaving;
	return excess > leaving ? excess - leaving : 0;
}

struct trace *room_victim(const struct storage *storage)
{
	return oldest_trace(storage, LIMIT_MAX_USE, NULL);
}
