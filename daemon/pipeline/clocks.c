// SPDX-License-Identifier: GPL-2.0-or-later
#include "clocks.h"

#include <stdio.h>

#include "clock.h"

#define TRIES 5

uint64_t clocks_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t clocks_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

struct clocks clocks_measure(void)
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

char *clocks_format(char text[CLOCKS_TEXT_MAX], uint64_t realtime_ns)
{
	char *fraction = clock_date(text, (int64_t)(realtime_ns / 1000000000));

	snprintf(fraction, CLOCKS_TEXT_MAX - CLOCK_DATE_SIZE, "%09llu",
		 (unsigned long long)(realtime_ns % 1000000000));
	return text;
}
