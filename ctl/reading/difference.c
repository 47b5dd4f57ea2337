// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/difference.h"

#include <math.h>

#define SIGMAS	   3.29 /* of the normal distribution: 99.9 % lie within */
#define NOTHING	   6.91 /* where so many are expected, nothing comes with a chance of 0.1 % */
#define COUNTS_MIN 8	/* intervals and, in both samples, events of which anything can be told */
#define VALUES_MIN 20	/* in both, of which the mean is nearly normal */

static enum direction direction_of(double ratio, double low, double high)
{
	if (low > 1 && ratio >= 1 + DIFFERENCE_LEAST)
		return UP;
	return high < 1 && ratio <= 1 - DIFFERENCE_LEAST ? DOWN : SAME;
}

/* Nothing in one of them. */
static enum direction direction_of_nothing(const struct sample *there, const struct sample *nothing, enum direction to)
{
	double expected = (double)there->count / there->exposure * nothing->exposure - nothing->missing;

	return expected / there->dispersion >= NOTHING ? to : SAME;
}

struct change rate_change(const struct sample *a, const struct sample *b)
{
	struct change change = { .direction = SAME };
	double deviation;

	if (!a->count && !b->count)
		return change;
	if (!a->count || !b->count) {
		change.direction = a->count ? direction_of_nothing(a, b, DOWN) : direction_of_nothing(b, a, UP);
		return change;
	}
	/* The logarithm of the ratio is nearly normal. */
	deviation = SIGMAS * sqrt(a->dispersion / (double)a->count + b->dispersion / (double)b->count);
	change.known = true;
	change.ratio = (double)b->count / b->exposure / ((double)a->count / a->exposure);
	change.low = change.ratio * exp(-deviation) / (1 + a->missing / (double)a->count);
	change.high = change.ratio * exp(deviation) * (1 + b->missing / (double)b->count);
	if (a->count >= COUNTS_MIN && b->count >= COUNTS_MIN)
		change.direction = direction_of(change.ratio, change.low, change.high);
	return change;
}

double rate_dispersion(const struct rate *rate)
{
	unsigned int count = rate->used - 1; /* the last one may be shorter than it looks */
	double mean = 0, squares = 0;

	if (rate->used <= COUNTS_MIN)
		return 1;
	for (unsigned int i = 0; i < count; i++)
		mean += (double)rate->counts[i] / count;
	for (unsigned int i = 0; i < count; i++)
		squares += ((double)rate->counts[i] - mean) * ((double)rate->counts[i] - mean);
	return mean > 0 ? fmax(1, squares / (count - 1) / mean) : 1;
}

/* How many deviations of a mean hold its interval when the deviation was estimated of so few: Student's t, to second order. */
static double sigmas_of(uint64_t count)
{
	return SIGMAS + (SIGMAS * SIGMAS * SIGMAS + SIGMAS) / (4 * (double)(count - 1));
}

struct change typical_change(const struct typical *a, const struct typical *b)
{
	struct change change = { .direction = SAME };
	double deviation;

	if (a->count < VALUES_MIN || b->count < VALUES_MIN)
		return change;
	deviation = sigmas_of(a->count < b->count ? a->count : b->count) *
		    sqrt(typical_variance(a) / (double)a->count + typical_variance(b) / (double)b->count);
	change.known = true;
	change.ratio = typical_value(b) / typical_value(a);
	change.low = change.ratio * exp2(-deviation);
	change.high = change.ratio * exp2(deviation);
	change.direction = direction_of(change.ratio, change.low, change.high);
	return change;
}

struct percentile percentile_of(const struct histogram *histogram, double percent)
{
	double total = (double)histogram->total, share = percent / 100;
	double deviation = SIGMAS * sqrt(total * share * (1 - share));
	double low = total * share - deviation, high = total * share + deviation + 1;
	struct percentile percentile = { .value = histogram_percentile(histogram, percent) };

	if (low < 1 || high > total)
		return percentile;
	percentile.known = true;
	percentile.low = (uint64_t)floor((double)histogram_percentile(histogram, 100 * low / total) * (1 - HISTOGRAM_ERROR));
	percentile.high = (uint64_t)ceil((double)histogram_percentile(histogram, 100 * high / total) * (1 + HISTOGRAM_ERROR));
	return percentile;
}

enum direction percentile_change(const struct percentile *a, const struct percentile *b)
{
	double least = (double)a->value * DIFFERENCE_LEAST;

	if (!a->known || !b->known)
		return SAME;
	if (b->low > a->high && (double)b->value - (double)a->value >= least)
		return UP;
	return b->high < a->low && (double)a->value - (double)b->value >= least ? DOWN : SAME;
}
