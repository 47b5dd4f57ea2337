// SPDX-License-Identifier: GPL-2.0-or-later
#include "errand.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <time.h>

#include "clock.h"
#include "thread.h"

enum state { WORKING, DONE, ABANDONED };

#define TURN_NS 2000000 /* of errands_take_turn() */

/* Numbers of threads. */
static _Atomic int at_work, bounded_at_work;

static void count(bool unbounded, int change)
{
	atomic_fetch_add(&at_work, change);
	if (!unbounded)
		atomic_fetch_add(&bounded_at_work, change);
}

static void *errand_run(void *userdata)
{
	struct errand *errand = userdata;
	int expected = WORKING, notice = errand->notice;
	bool unbounded = errand->unbounded;

	errand->work(errand);
	if (atomic_compare_exchange_strong(&errand->state, &expected, DONE))
		eventfd_write(notice, 1); /* the errand may be freed by now */
	else
		errand->drop(errand);
	count(unbounded, -1);
	return NULL;
}

static void *errand_undo(void *userdata)
{
	struct errand *errand = userdata;
	bool unbounded = errand->unbounded;

	errand->drop(errand);
	count(unbounded, -1);
	return NULL;
}

/* Starts a detached thread, which counts as at work until it ends. */
static int start(struct errand *errand, void *(*run)(void *errand))
{
	bool unbounded = errand->unbounded;
	pthread_t thread;
	int r;

	count(unbounded, 1);
	r = thread_start(&thread, run, errand);
	if (r < 0)
		count(unbounded, -1);
	else
		pthread_detach(thread);
	return r;
}

int errand_begin(struct errands *errands, struct errand *errand)
{
	int r;

	if (!errand->unbounded && atomic_load(&bounded_at_work) >= ERRANDS_MAX)
		return -EAGAIN;
	errand->errands = errands;
	errand->notice = errands->notice;
	atomic_store(&errand->state, WORKING);
	r = start(errand, errand_run);
	if (r < 0)
		return r;
	errand->next = errands->first;
	errands->first = errand;
	return 0;
}

static void forget(struct errand *errand)
{
	struct errand **at = &errand->errands->first;

	while (*at != errand)
		at = &(*at)->next;
	*at = errand->next;
}

void errand_abandon(struct errand *errand)
{
	int expected = WORKING;

	forget(errand);
	if (!atomic_compare_exchange_strong(&errand->state, &expected, ABANDONED) && start(errand, errand_undo) < 0)
		errand->drop(errand);
}

static bool is_done(const struct errand *errand)
{
	return atomic_load(&errand->state) == DONE;
}

/* Waits for a moment; returns false when the time is over. */
static bool wait_until(uint64_t until_ns)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	if (clock_ns(CLOCK_MONOTONIC) >= until_ns)
		return false;
	nanosleep(&moment, NULL);
	return true;
}

bool errand_wait(const struct errand *errand, uint64_t until_ns)
{
	while (!is_done(errand) && wait_until(until_ns))
		;
	return is_done(errand);
}

/* The one that was begun first, as new ones are put in front. */
static struct errand *next_done(const struct errands *errands)
{
	struct errand *found = NULL;

	for (struct errand *errand = errands->first; errand; errand = errand->next)
		if (is_done(errand))
			found = errand;
	return found;
}

/* A callback may abandon other errands, so the search starts anew each time. */
void errands_see_to(struct errands *errands)
{
	struct errand *errand;

	while ((errand = next_done(errands))) {
		forget(errand);
		errand->done(errand);
	}
}

uint64_t errands_take_turn(struct errands *errands)
{
	uint64_t begun = clock_ns(CLOCK_MONOTONIC), now = begun;
	struct errand *errand;

	while (now >= errands->rests_ns && (errand = next_done(errands))) {
		forget(errand);
		errand->done(errand);
		now = clock_ns(CLOCK_MONOTONIC);
		if (now - begun >= TURN_NS)
			errands->rests_ns = now + (now - begun);
	}
	return now < errands->rests_ns && next_done(errands) ? errands->rests_ns : 0;
}

bool errands_end(struct errands *errands, uint64_t until_ns)
{
	while (errands->first)
		errand_abandon(errands->first);
	while (atomic_load(&at_work) && wait_until(until_ns))
		;
	return !atomic_load(&at_work);
}
