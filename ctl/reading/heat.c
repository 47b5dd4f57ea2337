// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/heat.h"

#include <stdbool.h>

static unsigned int bucket_of(uint64_t latency_ns)
{
	uint64_t steps = latency_ns / HEAT_FIRST_NS;
	unsigned int bucket = steps ? 64 - (unsigned int)__builtin_clzll(steps) : 0;

	return bucket < HEAT_BUCKETS ? bucket : HEAT_BUCKETS - 1;
}

static bool covers(const struct rate *rate, uint64_t ns)
{
	return rate->width_ns && ns >= rate->from_ns && (ns - rate->from_ns) / rate->width_ns < rate->used;
}

void heat_add(struct heat *heat, uint64_t ns, uint64_t latency_ns)
{
	/* All reach the same times in the same order, and so have the same intervals. */
	if (!covers(&heat->rates[0], ns))
		for (unsigned int i = 0; i < HEAT_BUCKETS; i++)
			rate_cover(&heat->rates[i], ns);
	rate_add(&heat->rates[bucket_of(latency_ns)], ns);
}

void heat_narrow(struct heat *heat, unsigned int most)
{
	for (unsigned int i = 0; i < HEAT_BUCKETS; i++)
		rate_narrow(&heat->rates[i], most);
}
