// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/histogram.h"

#define STEPS 128 /* of a power of two */

const struct shown_percentile shown_percentiles[PERCENTILES] = {
	{ 50, "p50", "P50" },
	{ 90, "p90", "P90" },
	{ 99, "p99", "P99" },
};

unsigned int histogram_bucket(uint64_t value)
{
	unsigned int shift = value < 2 * STEPS ? 0 : 56 - (unsigned int)__builtin_clzll(value);

	return shift * STEPS + (unsigned int)(value >> shift);
}

/* The middle of the bucket. */
static uint64_t value_of(unsigned int bucket)
{
	unsigned int shift = bucket < 2 * STEPS ? 0 : bucket / STEPS - 1;

	return ((uint64_t)(bucket - shift * STEPS) << shift) + ((1ULL << shift) >> 1);
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
	histogram->counts[histogram_bucket(value)]++;
	histogram->total++;
	histogram->sum += value;
	if (value > histogram->max)
		histogram->max = value;
}

uint64_t histogram_percentile(const struct histogram *histogram, double percent)
{
	double wanted = (double)histogram->total * percent / 100;
	uint64_t sum = 0, value;

	if (percent >= 100)
		return histogram->max;
	for (unsigned int bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
		sum += histogram->counts[bucket];
		if (!histogram->counts[bucket] || (double)sum < wanted)
			continue;
		value = value_of(bucket);
		return value < histogram->max ? value : histogram->max;
	}
	return histogram->max;
}
