// SPDX-License-Identifier: GPL-2.0-or-later
#include "clocks.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"

#define TRIES	   5
#define MEASURE_NS 1000000000ULL
#define NOISE_NS   1000 /* ns; a smaller change of the offset is measurement noise */
#define CHANGES	   1024 /* changes that are remembered: a quarter of an hour of a clock that is slewed */

/* An offset that holds from an instant of CLOCK_MONOTONIC until that of the next change. */
struct change {
	uint64_t from_ns;
	int64_t offset_ns;
};

static struct {
	pthread_mutex_t lock;
	uint64_t measured_ns; /* 0: never */
	struct change changes[CHANGES];
	size_t count;
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

uint64_t clocks_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t clocks_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

/* The best of a few tries, exact to some tens of nanoseconds. */
static struct clocks measure(void)
{
	struct clocks best = { 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = clocks_mono_ns();
		uint64_t real = clocks_realtime_ns();
		uint64_t after = clocks_mono_ns();

		if (after - before >= least)
			continue;
		least = after - before;
		best.mono_ns = before + least / 2;
		best.offset_ns = (int64_t)(real - best.mono_ns);
	}
	return best;
}

static void remember(uint64_t from_ns, int64_t offset_ns)
{
	if (shared.count == CHANGES)
		memmove(shared.changes, shared.changes + 1, --shared.count * sizeof(shared.changes[0]));
	shared.changes[shared.count++] = (struct change){ from_ns, offset_ns };
}

/*
 * Call with the lock held. Every span that was returned ended at the time of that call, so a new
 * measurement holds from now on, and contradicts no earlier answer.
 */
static uint64_t refresh(void)
{
	uint64_t now = clocks_mono_ns();
	struct clocks fresh;
	int64_t moved;

	if (shared.measured_ns && now - shared.measured_ns < MEASURE_NS)
		return now;
	fresh = measure();
	now = clocks_mono_ns();
	moved = shared.count ? fresh.offset_ns - shared.changes[shared.count - 1].offset_ns : 0;
	if (!shared.count)
		remember(0, fresh.offset_ns);
	else if (moved <= -NOISE_NS || moved >= NOISE_NS)
		remember(now, fresh.offset_ns);
	shared.measured_ns = now;
	return now;
}

struct clocks clocks_measure(void)
{
	struct clocks clocks;

	pthread_mutex_lock(&shared.lock);
	clocks.mono_ns = refresh();
	clocks.offset_ns = shared.changes[shared.count - 1].offset_ns;
	pthread_mutex_unlock(&shared.lock);
	return clocks;
}

struct clocks_span clocks_at(uint64_t mono_ns)
{
	struct clocks_span span;
	size_t i;

	pthread_mutex_lock(&shared.lock);
	span.until_ns = refresh();
	for (i = shared.count - 1; i && mono_ns < shared.changes[i].from_ns; i--)
		span.until_ns = shared.changes[i].from_ns;
	span.from_ns = i ? shared.changes[i].from_ns : 0;
	span.offset_ns = shared.changes[i].offset_ns;
	pthread_mutex_unlock(&shared.lock);
	return span;
}

char *clocks_format(char text[CLOCKS_TEXT_MAX], uint64_t realtime_ns)
{
	char *fraction = clock_date(text, (int64_t)(realtime_ns / 1000000000));

	snprintf(fraction, CLOCKS_TEXT_MAX - CLOCK_DATE_SIZE, "%09llu",
		 (unsigned long long)(realtime_ns % 1000000000));
	return text;
}
