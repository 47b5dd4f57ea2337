/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many rows had which latency at which time, in bounded memory: intervals of time as those of a rate, and latencies
 * that double from one bucket to the next. Plain data, all-zero at first. One thread.
 */
#pragma once

#include <stdint.h>

#include "reading/rate.h"

enum {
	HEAT_BUCKETS = 30,
	HEAT_FIRST_NS = 256, /* the first bucket has all below; the last one all from HEAT_FIRST_NS << 28, 69 s, on */
};

struct heat {
	/* One rate for each bucket, all with the same intervals. */
	struct rate rates[HEAT_BUCKETS];
};

/* A row that began at `ns`. */
void heat_add(struct heat *heat, uint64_t ns, uint64_t latency_ns);

/* Makes the count of intervals at most `most`. */
void heat_narrow(struct heat *heat, unsigned int most);
