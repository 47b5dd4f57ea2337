/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts over time in bounded memory, of a span of time that is not known before: intervals that become twice as wide
 * whenever there would be too many. Plain data, all-zero at first. One thread.
 */
#pragma once

#include <stdint.h>

enum { RATE_INTERVALS = 256 };

struct rate {
	uint64_t counts[RATE_INTERVALS];
	uint64_t from_ns, width_ns; /* begin of the first interval; 0: nothing was counted yet */
	unsigned int used;	    /* number of intervals, up to the last with a count */
};

/* Makes the intervals reach that time, which may be earlier than others; returns the number of its interval. */
unsigned int rate_cover(struct rate *rate, uint64_t ns);

/* Adds the nanoseconds of that span of time to the intervals in which they lie; nothing unless `to_ns` is the later one. */
void rate_add_span(struct rate *rate, uint64_t from_ns, uint64_t to_ns);

/* Counts one more at that time, which may be earlier than others. */
void rate_add(struct rate *rate, uint64_t ns);

/*
 * Makes the count of intervals at most `most`, by making them wider. Those at the end may be shorter than they look, as
 * the last event lies in them.
 */
void rate_narrow(struct rate *rate, unsigned int most);
