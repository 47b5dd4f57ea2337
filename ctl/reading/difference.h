/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether two samples differ by more than chance: rates of events by intervals of Poisson, percentiles by the ranks between
 * which they lie, whatever the distribution, typical latencies by the deviation of their logarithms (Welch's interval). All
 * intervals hold with DIFFERENCE_CONFIDENCE. Pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reading/histogram.h"
#include "reading/rate.h"
#include "reading/typical.h"

#define DIFFERENCE_CONFIDENCE	   0.999
#define DIFFERENCE_CONFIDENCE_TEXT "99.9 %"
#define DIFFERENCE_LEAST	   0.05 /* a change by less is none, however certain */
#define DIFFERENCE_LEAST_TEXT	   "5 %"

enum direction { SAME, UP, DOWN };

/* So many events in so much time, or of so many others: any unit, the same of both. */
struct sample {
	uint64_t count;
	double exposure;   /* above 0 */
	double dispersion; /* variance of counts over their mean; 1: each event comes by itself; at least 1 */
	double missing;	   /* events that nobody counted, and that may have been such; INFINITY: nobody knows how many */
};

struct change {
	enum direction direction; /* SAME: nobody can tell that there is one */
	bool known;		  /* there is a ratio, that is, events in both, or values enough */
	double ratio, low, high;  /* of b to a, and between which it lies; INFINITY: too much is missing to say */
};

/*
 * From nothing to something, or the other way, is a change when chance would hardly do that. What is missing in one of them
 * makes the interval as wide as if all of it had been such events.
 */
struct change rate_change(const struct sample *a, const struct sample *b);

/* How much more the counts of intervals vary than those of events that come each by itself; 1 where there are too few. */
double rate_dispersion(const struct rate *rate);

struct percentile {
	uint64_t value;
	uint64_t low, high;
	bool known; /* there are values enough for low and high */
};

/* Percent is above 0 and below 100. */
struct percentile percentile_of(const struct histogram *histogram, double percent);

/* Of the geometric means; UP is slower. */
struct change typical_change(const struct typical *a, const struct typical *b);

/* SAME where one is not known. */
enum direction percentile_change(const struct percentile *a, const struct percentile *b);
