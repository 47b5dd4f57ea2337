// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The keepers, threads for all sessions together: they compress closed segments, note changed segments in the
 * manifests of ended sessions, and remove segments when limits were changed. While they compress
 * they leave CPU and disk to others (rest.h), and never use more than one core.
 *
 * One keeper is always free: one that accesses a disk may not return for long. For each disk at most one keeper
 * compresses and writes manifests, so that a disk that does not answer holds up no more of them.
 */
#include "storage_private.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "thread.h"

/* Between two writes of a manifest, so that it is not written for each of many segments */
#define TELL_NS 1000000000ULL
#define STOP_NS 15000000000ULL /* for keepers that wait for disks, at the daemon's end */

static void *run(void *argument);

static int keeper_start(struct storage *storage)
{
	struct keeper *keeper = &storage->keepers[storage->keeper_count];
	int error;

	keeper->storage = storage;
	error = thread_start(&keeper->thread, run, keeper);
	if (!error)
		storage->keeper_count++;
	return error;
}

/* Starts another keeper when all of them are at disks, so that one is free for the other disks. */
static void keep_one_free(struct storage *storage)
{
	const struct visit *visit;
	unsigned int away = 0;

	TAILQ_FOREACH (visit, &storage->visits, entry)
		away += visit->kind != VISIT_REMOVAL;
	if (away >= storage->keeper_count && away < KEEPERS_MAX && !atomic_load(&storage->stopping) &&
	    keeper_start(storage) < 0)
		log_warning("cannot start a thread: files are neither compressed nor removed until a disk answers that "
			    "does not now");
}

/* A keeper goes to the trace's disk, from which it may not return for long. */
static void leave(struct visit *visit, struct trace *trace, enum visit_kind kind)
{
	visit_begin(visit, trace, kind);
	keep_one_free(trace->storage);
}

/* ---- work, with the lock held, which is released meanwhile ---- */

/* Removes a segment. False: that failed. */
static bool trim_one(struct trace *victim)
{
	struct visit visit;
	bool removed;

	leave(&visit, victim, VISIT_TRIM);
	removed = trace_remove(victim, trace_oldest(victim), IOTR_REMOVAL_MAX_USE);
	visit_end(&visit);
	return removed;
}

/* Removes what exceeds max_use, except on disks that do not answer. */
static void trim(struct storage *storage)
{
	while (!atomic_load(&storage->stopping) && room_excess(storage)) {
		struct trace *victim = room_victim(storage);

		if (victim && disk_is_visited(storage, victim->device, VISIT_TRIM))
			return; /* the keeper that removes from it goes on */
		if (!victim || !trim_one(victim))
			break;
	}
	storage->wanted = 0;
}

/* Compresses the oldest waiting segment. The compressor is made at first use, as many keepers never need one. */
static bool pack_one(struct storage *storage, struct compressor **compressor)
{
	struct pack pack;

	if (!pack_find(storage, &pack))
		return false;
	*compressor = *compressor ?: compressor_new(COMPRESS_LEVEL);
	if (!*compressor)
		return false;
	leave(&pack.visit, pack.trace, VISIT_WORK);
	pack_run(&pack, *compressor);
	visit_end(&pack.visit);
	return true;
}

/* Writes one manifest that was last written at least `age_ns` ago. False: none is due. */
static bool tell_one(struct storage *storage, uint64_t age_ns)
{
	struct trace *trace = tell_find(storage, age_ns);
	struct visit visit;

	if (!trace)
		return false;
	leave(&visit, trace, VISIT_WORK);
	tell_run(trace);
	visit_end(&visit);
	return true;
}

/* ---- the thread ---- */

static bool anything_waits(const struct storage *storage)
{
	const struct trace *trace;

	TAILQ_FOREACH (trace, &storage->traces, entry)
		if (trace->waiting || trace->tell_tries)
			return true;
	return false;
}

/*
 * Waits for work. It wakes each second while threads wait for disks, to log those that do not
 * answer, and to go on with others.
 */
static void wait_for_work(struct storage *storage)
{
	uint64_t until = clocks_mono_ns() + KEEPER_RETRY_NS;
	struct timespec time = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

	visits_tell(storage);
	if (anything_waits(storage) || !TAILQ_EMPTY(&storage->visits))
		pthread_cond_timedwait(&storage->work, &storage->lock, &time);
	else
		pthread_cond_wait(&storage->work, &storage->lock);
}

static void *run(void *argument)
{
	struct keeper *keeper = argument;
	struct storage *storage = keeper->storage;
	struct compressor *compressor = NULL;

	pthread_mutex_lock(&storage->lock);
	while (!atomic_load(&storage->stopping)) {
		trim(storage);
		/*
		 * Changes are written before all is compressed, as `verify` would miss them in the
		 * manifest for long.
		 */
		if (tell_one(storage, TELL_NS))
			continue;
		if (pack_one(storage, &compressor))
			continue;
		if (!tell_one(storage, 0) && !atomic_load(&storage->stopping))
			wait_for_work(storage);
	}
	while (tell_one(storage, 0))
		;
	pthread_mutex_unlock(&storage->lock);
	compressor_free(compressor);
	atomic_store(&keeper->done, true);
	return NULL;
}

/* ---- begin and end ---- */

int keepers_start(struct storage *storage)
{
	int error;

	pthread_mutex_lock(&storage->lock);
	error = keeper_start(storage);
	pthread_mutex_unlock(&storage->lock);
	return error;
}

/* Waits for the keeper's end until `until_ns`; one that has not ended by then is detached, and false is returned. */
static bool keeper_ends(struct keeper *keeper, uint64_t until_ns)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	bool done;

	while (!(done = atomic_load(&keeper->done)) && clocks_mono_ns() < until_ns)
		nanosleep(&moment, NULL);
	if (done)
		pthread_join(keeper->thread, NULL);
	else
		pthread_detach(keeper->thread);
	return done;
}

bool keepers_end(struct storage *storage)
{
	uint64_t until_ns = clocks_mono_ns() + STOP_NS;
	bool ended = true;

	pthread_mutex_lock(&storage->lock);
	atomic_store(&storage->stopping, true); /* no keeper is started any more */
	pthread_cond_broadcast(&storage->work);
	pthread_mutex_unlock(&storage->lock);
	for (; storage->keeper_count; storage->keeper_count--)
		ended &= keeper_ends(&storage->keepers[storage->keeper_count - 1], until_ns);
	return ended;
}
