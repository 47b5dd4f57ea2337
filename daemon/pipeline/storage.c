// SPDX-License-Identifier: GPL-2.0-or-later
/* Who may write how much, and what goes to make room. */
#include "storage_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#include "thread.h"

#define WAIT_NS 500000000ULL /* for what another thread removes */
#define SLACK	(64 * 1024)  /* a file system needs more than a file's bytes */

enum limit { LIMIT_NONE, LIMIT_SESSION, LIMIT_MAX_USE, LIMIT_KEEP_FREE };

/* Somebody wants to write. */
struct request {
	struct trace *trace;
	uint64_t bytes;
	enum trace_room room;
	const struct kept *packed; /* that is being compressed, or NULL */
	uint64_t free;		   /* bytes of the file system */
	uint64_t deadline;	   /* for waiting */
};

static uint64_t free_bytes(const struct trace *trace)
{
	struct statvfs status;

	if (trace->device != trace->storage->device || trace->folder_fd < 0 ||
	    fstatvfs(trace->folder_fd, &status) < 0)
		return UINT64_MAX;
	return (uint64_t)status.f_bavail * status.f_frsize;
}

/* The disk is asked without the lock, and only where the answer counts. */
static uint64_t free_if_limited(const struct trace *trace)
{
	struct storage *storage = trace->storage;
	bool limited;

	pthread_mutex_lock(&storage->lock);
	limited = storage->limits.keep_free;
	pthread_mutex_unlock(&storage->lock);
	return limited ? free_bytes(trace) : UINT64_MAX;
}

static uint64_t in_flight(const struct storage *storage)
{
	const struct trace *trace;
	uint64_t bytes = 0;

	TAILQ_FOREACH (trace, &storage->traces, entry)
		if (trace->device == storage->device)
			bytes += trace->in_flight;
	return bytes;
}

/* By how much the bytes in use would be above the limit. */
static uint64_t excess_of(uint64_t used, uint64_t bytes, uint64_t limit)
{
	return limit && used + bytes > limit ? used + bytes - limit : 0;
}

/* The limit that stands against it, with how much has to go. */
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
	if (request->free >= keep_free + in_flight(storage) + request->bytes + SLACK) {
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

/* The trace with the oldest segment, of those that the limit is about. */
static struct trace *oldest_trace(const struct storage *storage, enum limit limit)
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
		least = kept->closed_ns;
		oldest = trace;
	}
	return oldest;
}

/* Of those below the log folder that have ended, and no rows any more, the first that ended. */
static struct trace *emptied_trace(const struct storage *storage)
{
	struct trace *trace, *oldest = NULL;

	TAILQ_FOREACH (trace, &storage->traces, entry) {
		bool empty = trace->ended && trace->counted && !trace->references &&
			     !trace->others && !trace_has_changes(trace) && trace->used;

		for (int stream = 0; empty && stream < IOTR_STREAM_COUNT; stream++)
			empty = TAILQ_EMPTY(&trace->kept[stream]);
		if (empty && (!oldest || trace->ended_ns < oldest->ended_ns))
			oldest = trace;
	}
	return oldest;
}

/* A manifest that tells of removed rows alone goes when there is nothing else. */
static bool remove_emptied(const struct request *request, enum limit limit)
{
	struct storage *storage = request->trace->storage;
	struct trace *trace;

	if (request->room == TRACE_ROOM_NONE || request->packed || limit == LIMIT_SESSION)
		return false;
	trace = emptied_trace(storage);
	return trace && trace_remove_folder(trace);
}

static struct trace *find_victim(const struct request *request, enum limit limit)
{
	struct trace *trace = request->trace;
	const struct kept *packed = request->packed, *oldest;

	if (request->room == TRACE_ROOM_NONE || (packed && trace->ended))
		return NULL;
	if (limit != LIMIT_SESSION && !packed)
		return oldest_trace(trace->storage, limit);
	oldest = trace_oldest(trace);
	return oldest && (!packed || oldest->closed_ns < packed->closed_ns) ? trace : NULL;
}

static bool wait_gone(struct storage *storage, uint64_t deadline)
{
	struct timespec until = { (time_t)(deadline / 1000000000), (long)(deadline % 1000000000) };

	return !pthread_cond_timedwait(&storage->gone, &storage->lock, &until);
}

/* Removes a segment, or waits for one that is being removed. False: there is none. */
static bool make_room(const struct request *request, enum limit limit, uint64_t excess)
{
	struct trace *victim, *trace = request->trace;
	struct storage *storage = trace->storage;
	uint64_t leaving = limit == LIMIT_SESSION ? trace->leaving : storage->leaving, freed;
	struct kept *oldest;

	if (leaving && leaving >= excess)
		return wait_gone(storage, request->deadline);
	victim = find_victim(request, limit);
	if (!victim)
		return leaving ? wait_gone(storage, request->deadline)
			       : remove_emptied(request, limit);
	oldest = trace_oldest(victim);
	/* What somebody has open takes its space as long as that. */
	freed = oldest->hashed && !oldest->held ? oldest->bytes : 0;
	if (trace_remove(victim, oldest) && limit == LIMIT_KEEP_FREE)
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
	for (;;) {
		request->free = free_if_limited(request->trace);
		pthread_mutex_lock(&storage->lock);
		if (request->packed && request->packed->state != KEPT_COMPRESSING)
			return -ECANCELED;
		limit = find_limit(request, &excess);
		if (limit == LIMIT_NONE)
			break;
		if (!make_room(request, limit, excess))
			return limit == LIMIT_SESSION ? -EDQUOT : -ENOSPC;
		pthread_mutex_unlock(&storage->lock);
	}
	trace_use(request->trace, request->bytes);
	request->trace->in_flight += request->bytes;
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
	trace->in_flight -= taken;
	trace_unuse(trace, taken - kept);
	pthread_mutex_unlock(&trace->storage->lock);
}

void trace_give(struct trace *trace, uint64_t bytes)
{
	if (!trace)
		return;
	pthread_mutex_lock(&trace->storage->lock);
	trace_unuse(trace, bytes);
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
	trace->in_flight -= taken;
	if (kept->state == KEPT_COMPRESSING) { /* else all of it was given back */
		kept->packed -= taken - written;
		trace_unuse(trace, taken - written);
	}
	pthread_mutex_unlock(&trace->storage->lock);
}

void storage_trim(struct storage *storage)
{
	while (storage->limits.max_use && storage->used > storage->limits.max_use &&
	       !atomic_load(&storage->stopping)) {
		struct trace *victim = oldest_trace(storage, LIMIT_MAX_USE);

		if (!victim || !trace_remove(victim, trace_oldest(victim)))
			return;
	}
}

void storage_set_limits(struct storage *storage, const struct storage_limits *limits)
{
	pthread_mutex_lock(&storage->lock);
	storage->limits = *limits;
	pthread_cond_signal(&storage->work);
	pthread_mutex_unlock(&storage->lock);
}

static int start_keeper(struct storage *storage)
{
	int error = thread_start(&storage->keeper, keeper_run, storage);

	storage->keeper_runs = !error;
	return error;
}

static void init_locks(struct storage *storage)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&storage->lock, NULL);
	pthread_cond_init(&storage->work, &attributes);
	pthread_cond_init(&storage->gone, &attributes);
	pthread_condattr_destroy(&attributes);
}

int storage_new(const char *log_dir, const struct storage_limits *limits,
		const char *const *recovered, struct storage **ret)
{
	struct storage *storage = calloc(1, sizeof(*storage));
	int error;

	if (!storage)
		return -ENOMEM;
	init_locks(storage);
	TAILQ_INIT(&storage->traces);
	storage->limits = *limits;
	storage->log_dir = strdup(log_dir);
	if (storage->log_dir)
		storage_scan(storage, recovered);
	error = storage->log_dir ? start_keeper(storage) : -ENOMEM;
	if (error < 0)
		storage_free(storage);
	else
		*ret = storage;
	return error;
}

void storage_stop(struct storage *storage)
{
	if (!storage)
		return;
	pthread_mutex_lock(&storage->lock);
	atomic_store(&storage->stopping, true);
	pthread_cond_signal(&storage->work);
	pthread_mutex_unlock(&storage->lock);
	if (storage->keeper_runs)
		pthread_join(storage->keeper, NULL);
	storage->keeper_runs = false;
}

void storage_free(struct storage *storage)
{
	struct trace *trace;

	if (!storage)
		return;
	storage_stop(storage);
	while ((trace = TAILQ_FIRST(&storage->traces))) {
		trace->references = 1;
		trace->counted = false; /* not kept for later */
		trace->ended = true;
		trace_unref(trace);
	}
	pthread_cond_destroy(&storage->gone);
	pthread_cond_destroy(&storage->work);
	pthread_mutex_destroy(&storage->lock);
	free(storage->log_dir);
	free(storage);
}
