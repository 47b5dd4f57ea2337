// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "probes/layers_fold.h"

static void sums_take(struct kept *kept, const struct iotr_layer_counts *counts, int cpus)
{
	struct layers_account *account = &kept->account;
	uint32_t total;

	memset(account->sums, 0, sizeof(account->sums));
	memset(account->latency_ns, 0, sizeof(account->latency_ns));
	for (int cpu = 0; cpu < cpus; cpu++)
		for (size_t layer = 0; layer < IOTR_LAYER_COUNT; layer++) {
			account->sums[layer].operations += counts[cpu].sums[layer].operations;
			account->sums[layer].bytes += counts[cpu].sums[layer].bytes;
			account->sums[layer].errors += counts[cpu].sums[layer].errors;
		}
	for (size_t layer = 0; layer < IOTR_LAYER_TIMED; layer++) {
		for (int cpu = 0; cpu < cpus; cpu++)
			account->latency_ns[layer] += counts[cpu].latency_ns[layer];
		for (size_t bucket = 0; bucket < IOTR_LAYER_BUCKETS; bucket++) {
			total = 0;
			for (int cpu = 0; cpu < cpus; cpu++)
				total += counts[cpu].latency[layer][bucket];
			account->latency[layer][bucket] += (uint32_t)(total - kept->latency[layer][bucket]);
			kept->latency[layer][bucket] = total;
		}
	}
}

/* A read in flight has its misses taken off already, and its hits not yet counted. */
static void hits_settle(struct layers_account *account)
{
	struct iotr_layer_sum *hit = &account->sums[IOTR_LAYER_CACHE_HIT];

	if ((int64_t)hit->operations < 0)
		hit->operations = hit->bytes = 0;
}

void counts_fold(struct kept *kept, const struct iotr_layer_counts *counts, int cpus)
{
	sums_take(kept, counts, cpus);
	hits_settle(&kept->account);
}
