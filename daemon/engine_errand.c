// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine_errand.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <time.h>

#include "engine_internal.h"
#include "pipeline/clocks.h"
#include "thread.h"

enum state { WORKING, DONE, ABANDONED };

static _Atomic unsigned int at_work; /* number of threads */

static void *errand_run(void *userdata)
{
	struct errand *errand = userdata;
	int expected = WORKING, notice = errand->notice;

	errand->work(errand);
	if (atomic_compare_exchange_strong(&errand->state, &expected, DONE))
		eventfd_write(notice, 1); /* the errand may be freed by now */
	else
		errand->drop(errand);
	atomic_fetch_sub(&at_work, 1);
	return NULL;
}

static void *errand_undo(void *userdata)
{
	struct errand *errand = userdata;

	errand->drop(errand);
	atomic_fetch_sub(&at_work, 1);
	return NULL;
}

/* Starts a detached thread; it counts in `at_work` until it ends. */
static int start(struct errand *errand, void *(*run)(void *errand))
{
	pthread_t thread;
	int r;

	atomic_fetch_add(&at_work, 1);
	r = thread_start(&thread, run, errand);
	if (r < 0)
		atomic_fetch_sub(&at_work, 1);
	else
		pthread_detach(thread);
	return r;
}

int errand_begin(struct engine *engine, struct errand *errand)
{
	int r;

	if (atomic_load(&at_work) >= ERRANDS_MAX)
		return -EAGAIN;
	errand->engine = engine;
	errand->notice = engine->notice;
	atomic_store(&errand->state, WORKING);
	r = start(errand, errand_run);
	if (r < 0)
		return r;
	errand->next = engine->errands;
	engine->errands = errand;
	return 0;
}

static void forget(struct errand *errand)
{
	struct errand **at = &errand->engine->errands;

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

static struct errand *next_done(const struct engine *engine)
{
	struct errand *errand = engine->errands;

	while (errand && atomic_load(&errand->state) != DONE)
		errand = errand->next;
	return errand;
}

/* A callback may abandon other errands, so the search starts anew each time. */
void errands_see_to(struct engine *engine)
{
	struct errand *errand;

	while ((errand = next_done(engine))) {
		forget(errand);
		errand->done(errand);
	}
}

void errands_end(struct engine *engine, uint64_t until_ns)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	while (engine->errands)
		errand_abandon(engine->errands);
	while (atomic_load(&at_work) && clocks_mono_ns() < until_ns)
		nanosleep(&moment, NULL);
	/* A thread may be about to write to the eventfd, and one that hangs may use what was passed to it. */
	engine->abandoned |= atomic_load(&at_work) > 0;
}
