// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/layers_fold.h"
#include "suite.h"

enum { CPUS = 2 };

static struct kept kept;
static struct iotr_layer_counts counts[CPUS];

static void start(void)
{
	kept = (struct kept){ 0 };
	for (int cpu = 0; cpu < CPUS; cpu++)
		counts[cpu] = (struct iotr_layer_counts){ 0 };
}

START_TEST(adds_up_all_cpus)
{
	for (int cpu = 0; cpu < CPUS; cpu++) {
		counts[cpu].sums[IOTR_LAYER_APP_WRITE] = (struct iotr_layer_sum){ 3, 1000, 1 };
		counts[cpu].latency_ns[IOTR_LAYER_APP_WRITE] = 70;
	}
	counts_fold(&kept, counts, CPUS);
	counts_fold(&kept, counts, CPUS); /* what was read once is not added again */
	ck_assert_uint_eq(kept.account.sums[IOTR_LAYER_APP_WRITE].operations, 6);
	ck_assert_uint_eq(kept.account.sums[IOTR_LAYER_APP_WRITE].bytes, 2000);
	ck_assert_uint_eq(kept.account.sums[IOTR_LAYER_APP_WRITE].errors, 2);
	ck_assert_uint_eq(kept.account.latency_ns[IOTR_LAYER_APP_WRITE], 140);
	ck_assert_uint_eq(kept.account.sums[IOTR_LAYER_APP_READ].operations, 0);
}
END_TEST

START_TEST(buckets_may_wrap_around)
{
	counts[0].latency[IOTR_LAYER_DEVICE_READ][5] = UINT32_MAX;
	counts[1].latency[IOTR_LAYER_DEVICE_READ][5] = 4;
	counts_fold(&kept, counts, CPUS);
	ck_assert_uint_eq(kept.account.latency[IOTR_LAYER_DEVICE_READ][5], 3); /* the sum of a first reading, modulo 2^32 */
	counts[0].latency[IOTR_LAYER_DEVICE_READ][5] += 10; /* is 9 now */
	counts_fold(&kept, counts, CPUS);
	ck_assert_uint_eq(kept.account.latency[IOTR_LAYER_DEVICE_READ][5], 13);
	ck_assert_uint_eq(kept.account.latency[IOTR_LAYER_DEVICE_READ][6], 0);
}
END_TEST

START_TEST(hits_are_never_below_none)
{
	counts[0].sums[IOTR_LAYER_CACHE_HIT] = (struct iotr_layer_sum){ -3ULL, -3ULL << 12, 0 };
	counts[1].sums[IOTR_LAYER_CACHE_HIT] = (struct iotr_layer_sum){ 1, 1 << 12, 0 };
	counts_fold(&kept, counts, CPUS);
	ck_assert_uint_eq(kept.account.sums[IOTR_LAYER_CACHE_HIT].operations, 0);
	ck_assert_uint_eq(kept.account.sums[IOTR_LAYER_CACHE_HIT].bytes, 0);
	counts[1].sums[IOTR_LAYER_CACHE_HIT] = (struct iotr_layer_sum){ 5, 5 << 12, 0 };
	counts_fold(&kept, counts, CPUS);
	ck_assert_uint_eq(kept.account.sums[IOTR_LAYER_CACHE_HIT].operations, 2);
	ck_assert_uint_eq(kept.account.sums[IOTR_LAYER_CACHE_HIT].bytes, 2 << 12);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, adds_up_all_cpus);
	tcase_add_test(tests, buckets_may_wrap_around);
	tcase_add_test(tests, hits_are_never_below_none);
}

int main(void)
{
	return run_suite("layers_fold", add);
}
