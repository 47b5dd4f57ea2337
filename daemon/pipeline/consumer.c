// SPDX-License-Identifier: GPL-2.0-or-later
#include "pipeline/consumer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "cleanup.h"
#include "pipeline/clocks.h"
#include "pipeline/names.h"
#include "pipeline/ring.h"
#include "pipeline/router.h"
#include "thread.h"

/*
 * The pause between two drains: the least after one that found many rows, doubled while there are few or none, up to the most
 * of either. Each turn wakes this thread and the writers, which costs a busy machine more than the few rows do.
 */
#define PAUSE_LEAST_NS	   2000000L
#define PAUSE_MOST_FEW_NS  8000000L
#define PAUSE_MOST_NONE_NS 16000000L
/* Pauses to wait for names: their length and their number in one drain, as rows must not wait long. */
#define NAMES_PAUSE_NS 20000L
#define NAMES_PAUSES   200

#define MANY_ROWS 1024	   /* rows of one drain after which the pause is the least */
#define BUSY_ROWS 4096	   /* and after which the next follows at once */
#define NAMES_EVERY 256	   /* rows after which the ring of names is drained, lest it fills while there are many rows */

struct consumer {
	struct names *names;
	struct router *router;
	struct ring *rings;
	size_t ring_count;
	struct ring name_ring;
	struct ring *reading;	   /* the ring of rows that is being drained */
	unsigned int names_pauses; /* pauses that are left in this drain */
	unsigned int rows;	   /* rows since the ring of names was drained */
	uint64_t cycle_ns;	   /* when the names' cycle began, CLOCK_MONOTONIC */
	uint64_t *known;
	size_t known_mask;

	_Atomic uint64_t turns; /* of the thread */
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* for all members below */
	pthread_cond_t changed;
	bool run, end;
	uint64_t drains_wanted, drains_done;
};

/* Makes the kernel side forget that it sent a name: clears its mark if that is still there. */
static void forget(uint64_t id, void *userdata)
{
	struct consumer *consumer = userdata;
	uint64_t expected = id;

	__atomic_compare_exchange_n(&consumer->known[id & consumer->known_mask], &expected, 0, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static int take_name(void *userdata, const void *record, size_t size)
{
	return names_add(((struct consumer *)userdata)->names, record, size);
}

/* False when a record was still being written. */
static bool drain_names(struct consumer *consumer)
{
	size_t count = 0;

	return ring_read(&consumer->name_ring, take_name, consumer, &count);
}

/* A record of the ring has one row, or several of one event, one after the other. */
static int take_rows(void *userdata, const void *record, size_t size)
{
	const char *next = record, *end = next + size;
	struct consumer *consumer = userdata;

	while (next < end) {
		if (++consumer->rows >= NAMES_EVERY) {
			consumer->rows = 0;
			drain_names(consumer);
		}
		next += router_row(consumer->router, (const struct iotr_record *)next, (size_t)(end - next));
	}
	return 0;
}

/*
 * A row's name was sent before the row, but may come in the ring after another record that is still
 * being written. That takes no time, unless the CPU that writes is preempted meanwhile, as a
 * virtual CPU is at any moment.
 */
static void await_names(void *userdata)
{
	const struct timespec pause = { .tv_nsec = NAMES_PAUSE_NS };
	struct consumer *consumer = userdata;

	while (!drain_names(consumer) && consumer->names_pauses) {
		consumer->names_pauses--;
		ring_publish(consumer->reading);
		nanosleep(&pause, NULL);
	}
}

/* Drains all rings once. False when a record was still being written; `rows` grows by the rows that came. */
static bool look(struct consumer *consumer, size_t *rows)
{
	uint64_t began_ns = clocks_mono_ns();
	bool complete = true;

	consumer->names_pauses = NAMES_PAUSES;
	router_begin(consumer->router);
	drain_names(consumer);
	for (size_t i = 0; i < consumer->ring_count; i++) {
		consumer->reading = &consumer->rings[i];
		complete &= ring_read(consumer->reading, take_rows, consumer, rows);
	}
	router_end(consumer->router);
	if (complete && began_ns - consumer->cycle_ns >= IOTR_NAME_STAYS_NS) {
		names_cycle_end(consumer->names);
		consumer->cycle_ns = clocks_mono_ns();
	}
	return complete;
}

/* Sleeps until the next drain is due. Returns the number of drains that were requested by then, or -1 at the end. */
static int64_t wait_turn(struct consumer *consumer, long pause_ns)
{
	struct timespec until;
	int64_t wanted;

	pthread_mutex_lock(&consumer->lock);
	while (!consumer->run && !consumer->end && consumer->drains_wanted == consumer->drains_done)
		pthread_cond_wait(&consumer->changed, &consumer->lock);
	if (pause_ns && !consumer->end && consumer->drains_wanted == consumer->drains_done) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += pause_ns;
		if (until.tv_nsec >= 1000000000L) {
			until.tv_nsec -= 1000000000L;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&consumer->changed, &consumer->lock, &until);
	}
	wanted = consumer->end ? -1 : (int64_t)consumer->drains_wanted;
	pthread_mutex_unlock(&consumer->lock);
	return wanted;
}

static void drains_report(struct consumer *consumer, int64_t done)
{
	pthread_mutex_lock(&consumer->lock);
	if ((uint64_t)done > consumer->drains_done) {
		consumer->drains_done = done;
		pthread_cond_broadcast(&consumer->changed);
	}
	pthread_mutex_unlock(&consumer->lock);
}

static long next_pause(long pause_ns, size_t rows)
{
	long most = rows ? PAUSE_MOST_FEW_NS : PAUSE_MOST_NONE_NS;

	if (rows >= BUSY_ROWS)
		return 0;
	if (rows >= MANY_ROWS || !pause_ns)
		return PAUSE_LEAST_NS;
	return 2 * pause_ns < most ? 2 * pause_ns : most;
}

static void *consumer_thread(void *userdata)
{
	struct consumer *consumer = userdata;
	long pause_ns = PAUSE_LEAST_NS;
	int64_t wanted;
	size_t rows;

	setpriority(PRIO_PROCESS, 0, CONSUMER_NICE); /* on Linux this affects the calling thread alone */
	while ((wanted = wait_turn(consumer, pause_ns)) >= 0) {
		atomic_fetch_add_explicit(&consumer->turns, 1, memory_order_relaxed);
		rows = 0;
		if (look(consumer, &rows))
			drains_report(consumer, wanted);
		pause_ns = next_pause(pause_ns, rows);
	}
	return NULL;
}

static int rings_open(struct consumer *consumer, const struct consumer_config *config)
{
	int r = ring_open(&consumer->name_ring, config->names);

	consumer->rings = calloc(config->ring_count, sizeof(*consumer->rings));
	if (!consumer->rings)
		return -ENOMEM;
	for (; r >= 0 && consumer->ring_count < config->ring_count; consumer->ring_count++)
		r = ring_open(&consumer->rings[consumer->ring_count],
			      config->rings[consumer->ring_count]);
	return r;
}

static int start_thread(struct consumer *consumer)
{
	pthread_condattr_t attributes;
	int r;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&consumer->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	r = thread_start(&consumer->thread, consumer_thread, consumer);
	consumer->started = r == 0;
	return r;
}

DEFINE_CLEANUP(struct consumer *, consumer_free);

int consumer_new(const struct consumer_config *config, struct consumer **ret)
{
	_cleanup_(consumer_freep) struct consumer *consumer = calloc(1, sizeof(*consumer));
	struct names_config names = { .forget = forget, .userdata = consumer };
	struct router_config router = { .drain_names = await_names, .userdata = consumer };
	int r;

	if (!consumer)
		return -ENOMEM;
	pthread_mutex_init(&consumer->lock, NULL);
	consumer->known = config->known;
	consumer->known_mask = config->known_count - 1;
	r = names_new(&names, &consumer->names);
	if (r < 0)
		return r;
	router.names = consumer->names;
	r = router_new(&router, &consumer->router);
	if (r >= 0)
		r = rings_open(consumer, config);
	if (r >= 0)
		r = start_thread(consumer);
	if (r < 0)
		return r;
	*ret = TAKE(consumer);
	return 0;
}

void consumer_free(struct consumer *consumer)
{
	if (!consumer)
		return;
	if (consumer->started) {
		pthread_mutex_lock(&consumer->lock);
		consumer->end = true;
		pthread_cond_broadcast(&consumer->changed);
		pthread_mutex_unlock(&consumer->lock);
		pthread_join(consumer->thread, NULL);
		pthread_cond_destroy(&consumer->changed);
	}
	for (size_t i = 0; i < consumer->ring_count; i++)
		ring_close(&consumer->rings[i]);
	free(consumer->rings);
	ring_close(&consumer->name_ring);
	router_free(consumer->router);
	names_free(consumer->names);
	pthread_mutex_destroy(&consumer->lock);
	free(consumer);
}

struct router *consumer_router(struct consumer *consumer)
{
	return consumer->router;
}

void consumer_run(struct consumer *consumer, bool run)
{
	pthread_mutex_lock(&consumer->lock);
	consumer->run = run;
	pthread_cond_broadcast(&consumer->changed);
	pthread_mutex_unlock(&consumer->lock);
}

void consumer_drain(struct consumer *consumer)
{
	uint64_t drain;

	pthread_mutex_lock(&consumer->lock);
	drain = ++consumer->drains_wanted;
	pthread_cond_broadcast(&consumer->changed);
	while (consumer->drains_done < drain)
		pthread_cond_wait(&consumer->changed, &consumer->lock);
	pthread_mutex_unlock(&consumer->lock);
}

bool consumer_turns(struct consumer *consumer, uint64_t *turns)
{
	bool run;

	*turns = atomic_load_explicit(&consumer->turns, memory_order_relaxed);
	/* Not waited for: a thread that stops with the lock is one that does not move. */
	if (pthread_mutex_trylock(&consumer->lock))
		return true;
	run = consumer->run;
	pthread_mutex_unlock(&consumer->lock);
	return run;
}
