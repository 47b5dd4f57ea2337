// SPDX-License-Identifier: GPL-2.0-or-later
#include "formulas.h"

#include <math.h>
#include <string.h>

#include "suite.h"

#define PAGE 4096

static struct iotr_layer_sum sums[IOTR_LAYER_COUNT];

static void set_up(void)
{
	memset(sums, 0, sizeof(sums));
}

static void count(enum iotr_layer layer, uint64_t operations, uint64_t bytes)
{
	sums[layer].operations += operations;
	sums[layer].bytes += bytes;
}

static struct flow_counts counts_of(enum flow flow)
{
	struct flow_counts counts;

	flow_counts(flow, sums, &(struct surroundings){ .dirty_bytes = UINT64_MAX }, &counts);
	return counts;
}

static void is(struct factor factor, double value, bool at_least)
{
	ck_assert(factor.known);
	ck_assert_msg(fabs(factor.value - value) < 1e-9, "%f is not %f", factor.value, value);
	ck_assert_int_eq(factor.at_least, at_least);
	ck_assert_int_eq(factor.reason != NULL, at_least);
}

static void is_unknown(struct factor factor, const char *reason)
{
	ck_assert(!factor.known && !factor.at_least);
	ck_assert_ptr_nonnull(strstr(factor.reason, reason));
}

/* Ten synchronous writes of a page each: its data, a block of metadata and two of the journal each time. */
START_TEST(has_both_formulas)
{
	struct flow_counts counts;

	count(IOTR_LAYER_APP_WRITE, 10, 10 * PAGE);
	count(IOTR_LAYER_CACHE_DIRTIED, 10, 10 * PAGE);
	count(IOTR_LAYER_FS_WRITE, 10, 10 * PAGE);
	count(IOTR_LAYER_FS_METADATA_WRITE, 10, 10 * PAGE);
	count(IOTR_LAYER_FS_JOURNAL_WRITE, 20, 20 * PAGE);
	count(IOTR_LAYER_DEVICE_WRITE, 30, 40 * PAGE);
	count(IOTR_LAYER_DEVICE_FLUSH, 10, 0);
	counts = counts_of(FLOW_WRITE);
	is(factor_by_operations(&counts), (10 + 30) / 10.0, false);
	is(factor_by_bytes(&counts), 4, false);
	is(factor_of_stage(&counts, STAGE_APPLICATION), 1, false);
	is(factor_of_stage(&counts, STAGE_VFS), 1, false);
	is(factor_of_stage(&counts, STAGE_CACHE), 1, false);
	is(factor_of_stage(&counts, STAGE_FILESYSTEM), 4, false);
	counts = counts_of(FLOW_READ);
	is_unknown(factor_by_operations(&counts), "no system call");
	is_unknown(factor_by_bytes(&counts), "no byte");
}
END_TEST

START_TEST(says_what_is_not_back)
{
	struct flow_counts counts;

	count(IOTR_LAYER_APP_WRITE, 4, 8 * PAGE);
	count(IOTR_LAYER_CACHE_DIRTIED, 8, 8 * PAGE);
	counts = counts_of(FLOW_WRITE);
	ck_assert_uint_eq(counts.pending_bytes, 8 * PAGE);
	is(factor_by_operations(&counts), 1, true);
	is_unknown(factor_by_bytes(&counts), "is back from the page cache yet");
	is_unknown(factor_of_stage(&counts, STAGE_FILESYSTEM), "is back from the page cache yet");
	is(factor_of_stage(&counts, STAGE_CACHE), 1, false);
	count(IOTR_LAYER_FS_WRITE, 2, 6 * PAGE);
	count(IOTR_LAYER_DEVICE_WRITE, 2, 6 * PAGE);
	counts = counts_of(FLOW_WRITE);
	ck_assert_uint_eq(counts.pending_bytes, 2 * PAGE);
	is(factor_by_bytes(&counts), 0.75, true);
	count(IOTR_LAYER_FS_METADATA_WRITE, 1, 2 * PAGE);
	counts = counts_of(FLOW_WRITE);
	ck_assert_uint_eq(counts.pending_bytes, 0);
	is(factor_by_bytes(&counts), 0.75, false);
}
END_TEST

/* A large folio is made dirty as a whole, and a part of it written: no more waits than is dirty on the machine. */
START_TEST(limits_what_is_not_back)
{
	struct flow_counts counts;

	count(IOTR_LAYER_APP_WRITE, 1, PAGE);
	count(IOTR_LAYER_CACHE_DIRTIED, 512, 512 * PAGE);
	count(IOTR_LAYER_FS_WRITE, 1, PAGE);
	count(IOTR_LAYER_DEVICE_WRITE, 1, PAGE);
	flow_counts(FLOW_WRITE, sums, &(struct surroundings){ .dirty_bytes = 3 * PAGE }, &counts);
	ck_assert_uint_eq(counts.pending_bytes, 3 * PAGE);
	is(factor_by_bytes(&counts), 1, true);
	flow_counts(FLOW_WRITE, sums, &(struct surroundings){ .dirty_bytes = 0 }, &counts);
	is(factor_by_bytes(&counts), 1, false);
}
END_TEST

/* What was read ahead and then read is not from the cache; what is read again is. */
START_TEST(says_what_is_cached)
{
	struct flow_counts counts;

	count(IOTR_LAYER_APP_READ, 8, 8 * PAGE);
	count(IOTR_LAYER_CACHE_MISS, 1, PAGE);
	count(IOTR_LAYER_CACHE_HIT, 7, 7 * PAGE);
	count(IOTR_LAYER_CACHE_READAHEAD, 7, 7 * PAGE);
	count(IOTR_LAYER_DEVICE_READ, 2, 8 * PAGE);
	counts = counts_of(FLOW_READ);
	ck_assert_uint_eq(counts.cached_bytes, 0);
	is(factor_by_bytes(&counts), 1, false);
	is(factor_by_operations(&counts), 10 / 8.0, false);
	count(IOTR_LAYER_APP_READ, 8, 8 * PAGE);
	count(IOTR_LAYER_CACHE_HIT, 8, 8 * PAGE);
	counts = counts_of(FLOW_READ);
	ck_assert_uint_eq(counts.cached_bytes, 8 * PAGE);
	is(factor_by_bytes(&counts), 0.5, false);
}
END_TEST

/* A mapped file is read and written without a call: its bytes are the application's, too. */
START_TEST(counts_mapped_files)
{
	struct flow_counts counts;

	count(IOTR_LAYER_MAP_WRITE, 3, 3 * PAGE);
	count(IOTR_LAYER_CACHE_DIRTIED, 3, 3 * PAGE);
	count(IOTR_LAYER_FS_WRITE, 1, 3 * PAGE);
	count(IOTR_LAYER_DEVICE_WRITE, 1, 3 * PAGE);
	counts = counts_of(FLOW_WRITE);
	ck_assert_uint_eq(counts.stages[STAGE_APPLICATION].operations, 0);
	ck_assert_uint_eq(counts.stages[STAGE_VFS].operations, 3);
	is_unknown(factor_by_operations(&counts), "no system call");
	is(factor_by_bytes(&counts), 1, false);
}
END_TEST

START_TEST(says_what_is_not_counted)
{
	const struct surroundings no_disks = { .missing = 1U << IOTR_LAYER_DEVICE_READ | 1U << IOTR_LAYER_DEVICE_WRITE };
	const struct surroundings no_calls = { .missing = 1U << IOTR_LAYER_APP_READ };
	const struct surroundings no_part = { .missing = 1U << IOTR_LAYER_FS_METADATA_READ };
	struct flow_counts counts;

	count(IOTR_LAYER_APP_READ, 1, PAGE);
	flow_counts(FLOW_READ, sums, &no_disks, &counts);
	is_unknown(factor_by_operations(&counts), "what reaches the disks");
	is_unknown(factor_by_bytes(&counts), "what reaches the disks");
	is(factor_of_stage(&counts, STAGE_FILESYSTEM), 0, false);
	flow_counts(FLOW_READ, sums, &no_calls, &counts);
	is_unknown(factor_of_stage(&counts, STAGE_FILESYSTEM), "what applications do");
	flow_counts(FLOW_READ, sums, &no_part, &counts); /* a part of it is */
	is(factor_of_stage(&counts, STAGE_FILESYSTEM), 0, false);
}
END_TEST

START_TEST(adds_up_errors)
{
	struct flow_counts counts;

	sums[IOTR_LAYER_APP_READ].errors = 2;
	sums[IOTR_LAYER_DEVICE_READ].errors = 1;
	counts = counts_of(FLOW_READ);
	ck_assert_uint_eq(counts.stages[STAGE_APPLICATION].errors, 2);
	ck_assert_uint_eq(counts.stages[STAGE_DEVICE].errors, 1);
}
END_TEST

/* What a loop device's thread does is nobody's: nothing known is not nothing done. */
START_TEST(stacked_disks)
{
	struct flow_counts counts;

	count(IOTR_LAYER_APP_WRITE, 8, 8 * PAGE);
	count(IOTR_LAYER_LOOP_WRITE, 8, 8 * PAGE);
	counts = counts_of(FLOW_WRITE);
	ck_assert(flow_device_unknown(&counts));
	is_unknown(factor_by_bytes(&counts), "stacked");
	is(factor_by_operations(&counts), 1, true);
	count(IOTR_LAYER_DEVICE_WRITE, 2, 2 * PAGE);
	counts = counts_of(FLOW_WRITE);
	is(factor_by_bytes(&counts), 0.25, true);
	set_up();
	count(IOTR_LAYER_APP_READ, 8, 8 * PAGE);
	count(IOTR_LAYER_STACKED_READ, 8, 8 * PAGE); /* and all of it below, as of device mapper */
	count(IOTR_LAYER_DEVICE_READ, 8, 8 * PAGE);
	counts = counts_of(FLOW_READ);
	is(factor_by_bytes(&counts), 1, false);
	count(IOTR_LAYER_STACKED_READ, 1, PAGE);
	counts = counts_of(FLOW_READ);
	is(factor_by_bytes(&counts), 1, true);
}
END_TEST

/* Small synchronous writes into large folios: these are dirty as a whole, but no more than was written waits. */
START_TEST(large_folios)
{
	struct flow_counts counts;

	count(IOTR_LAYER_APP_WRITE, 10, 10 * PAGE);
	count(IOTR_LAYER_CACHE_DIRTIED, 10, 10 * PAGE);
	count(IOTR_LAYER_CACHE_FOLIOS, 10, 2560 * PAGE);
	count(IOTR_LAYER_FS_WRITE, 10, 10 * PAGE);
	count(IOTR_LAYER_DEVICE_WRITE, 10, 10 * PAGE);
	counts = counts_of(FLOW_WRITE);
	is(factor_by_bytes(&counts), 1, false);
	count(IOTR_LAYER_APP_WRITE, 5, 5 * PAGE); /* into folios that are dirty already */
	counts = counts_of(FLOW_WRITE);
	ck_assert_uint_eq(counts.pending_bytes, 5 * PAGE);
	ck_assert(factor_by_bytes(&counts).at_least);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, has_both_formulas);
	tcase_add_test(tests, stacked_disks);
	tcase_add_test(tests, large_folios);
	tcase_add_test(tests, says_what_is_not_back);
	tcase_add_test(tests, limits_what_is_not_back);
	tcase_add_test(tests, says_what_is_cached);
	tcase_add_test(tests, counts_mapped_files);
	tcase_add_test(tests, says_what_is_not_counted);
	tcase_add_test(tests, adds_up_errors);
}

int main(void)
{
	return run_suite("formulas", add);
}
