// SPDX-License-Identifier: GPL-2.0-or-later
/* What summaries are made of: percentiles, lists of the greatest, counts over time, each in bounded memory. */
#include <stdio.h>
#include <string.h>

#include "reading/heat.h"
#include "reading/histogram.h"
#include "reading/rate.h"
#include "reading/sparkline.h"
#include "reading/top.h"
#include "suite.h"

/* ---- percentiles ---- */

static uint64_t random_state = 1;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Beside a sorted list of all values, of every size. */
START_TEST(percentiles)
{
	static const double percents[] = { 1, 10, 50, 90, 99, 99.9, 100 };
	enum { VALUES = 20000 };
	static uint64_t values[VALUES];
	struct histogram *histogram = calloc(1, sizeof(*histogram));

	for (size_t i = 0; i < VALUES; i++) {
		values[i] = random_number() >> (random_number() % 64);
		histogram_add(histogram, values[i]);
	}
	qsort(values, VALUES, sizeof(*values), compare);
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		size_t rank = (size_t)(percents[i] * VALUES / 100 + 0.999999);
		double truth = (double)values[rank - 1], found = (double)histogram_percentile(histogram, percents[i]);

		ck_assert_msg(found >= truth * (1 - HISTOGRAM_ERROR) && found <= truth * (1 + HISTOGRAM_ERROR),
			      "%g %%: %g is not %g", percents[i], found, truth);
	}
	free(histogram);
}
END_TEST

START_TEST(small_values)
{
	struct histogram *histogram = calloc(1, sizeof(*histogram));

	ck_assert_uint_eq(histogram_percentile(histogram, 50), 0);
	for (uint64_t value = 0; value < 256; value++)
		histogram_add(histogram, value);
	for (uint64_t value = 0; value < 256; value++)
		ck_assert_uint_eq(histogram_percentile(histogram, (double)(value + 1) * 100 / 256), value);
	histogram_add(histogram, UINT64_MAX);
	ck_assert_uint_eq(histogram_percentile(histogram, 100), UINT64_MAX);
	free(histogram);
}
END_TEST

/* ---- the greatest ---- */

static const uint8_t layers[] = { 0, 1, 2 };

static void add_key(struct top *top, unsigned int key, uint64_t ns)
{
	const struct top_sum sum = { .ns = ns, .rows = 1, .read = 2 };
	char text[16];

	snprintf(text, sizeof(text), "key %u", key);
	top_add(top, text, strlen(text), 0, &sum);
}

START_TEST(top_exact)
{
	const struct top_entry *greatest[3];
	struct top top = { 0 };

	ck_assert_int_eq(top_init(&top, layers, 3), 0);
	for (unsigned int i = 0; i < TOP_KEYS_MAX; i++)
		for (unsigned int times = 0; times < 1 + (i == 500); times++)
			add_key(&top, i, i == 77 ? 1000 : i % 7);
	ck_assert_int_eq(top_greatest(&top, TOP_BY_TIME, greatest, 3), 3);
	ck_assert(greatest[0]->key_length == 6 && !memcmp(top_key(&top, greatest[0]), "key 77", 6));
	ck_assert(greatest[1]->key_length == 7 && !memcmp(top_key(&top, greatest[1]), "key 500", 7));
	ck_assert_uint_eq(greatest[1]->sums[0].read, 4);
	ck_assert(!greatest[0]->at_least && !top_forgot(&top));
	top_done(&top);
}
END_TEST

static void add_in(struct top *top, const char *key, unsigned int layer, const struct top_sum *sum)
{
	top_add(top, key, strlen(key), layer, sum);
}

/* A key is as great as it is in its outermost layer, whatever it is in those below. */
START_TEST(top_layers)
{
	const struct top_entry *greatest[3];
	struct top top = { 0 };

	ck_assert_int_eq(top_init(&top, layers, 3), 0);
	add_in(&top, "call", 0, &(struct top_sum){ .ns = 5, .rows = 1, .written = 10 });
	add_in(&top, "call", 2, &(struct top_sum){ .ns = 900, .rows = 9, .written = 4096, .errors = 3 });
	add_in(&top, "slow", 0, &(struct top_sum){ .ns = 6, .rows = 1, .read = 1 });
	add_in(&top, "slow", 1, &(struct top_sum){ .ns = 1, .rows = 2, .read = 100, .errors = 1 });
	add_in(&top, "below", 1, &(struct top_sum){ .ns = 1000, .rows = 20, .read = 110, .errors = 1 });
	ck_assert_int_eq(top_greatest(&top, TOP_BY_TIME, greatest, 3), 3);
	ck_assert(!memcmp(top_key(&top, greatest[0]), "slow", 4) && !memcmp(top_key(&top, greatest[2]), "below", 5));
	ck_assert(greatest[1]->sums[0].written == 10 && greatest[1]->sums[2].written == 4096 && !greatest[1]->sums[1].rows);
	top_greatest(&top, TOP_BY_BYTES, greatest, 3);
	ck_assert(!memcmp(top_key(&top, greatest[0]), "call", 4) && !memcmp(top_key(&top, greatest[2]), "below", 5));
	add_in(&top, "slow", 0, &(struct top_sum){ .rows = 1, .errors = 1 });
	top_greatest(&top, TOP_BY_ROWS, greatest, 1);
	ck_assert(!memcmp(top_key(&top, greatest[0]), "slow", 4));
	add_in(&top, "call", 0, &(struct top_sum){ .rows = 1, .errors = 2 });
	top_greatest(&top, TOP_BY_ERRORS, greatest, 1);
	ck_assert(!memcmp(top_key(&top, greatest[0]), "call", 4));
	top_done(&top);
}
END_TEST

/* Ten times as many keys as there is room for: what is told of any of them is not above the truth, nor too far below. */
START_TEST(top_bounded)
{
	enum { KEYS = 4 * TOP_KEYS_MAX, HEAVY = 50 };
	const struct top_entry *greatest[HEAVY];
	static uint64_t truth[KEYS];
	struct top top = { 0 };

	ck_assert_int_eq(top_init(&top, layers, 3), 0);
	for (unsigned int i = 0; i < 4 * KEYS; i++) {
		unsigned int key = i % 10 == 0 ? (unsigned int)(random_number() % HEAVY) : (unsigned int)(random_number() % KEYS);

		add_key(&top, key, 1 + key % 3);
		truth[key] += 1 + key % 3;
		ck_assert_uint_le(top.count, TOP_KEYS_MAX);
	}
	ck_assert_int_eq(top_greatest(&top, TOP_BY_TIME, greatest, HEAVY), HEAVY);
	for (size_t i = 0; i < HEAVY; i++) {
		char text[16] = "";
		unsigned int key;

		memcpy(text, top_key(&top, greatest[i]), greatest[i]->key_length);
		ck_assert_int_eq(sscanf(text, "key %u", &key), 1);
		ck_assert_uint_lt(key, HEAVY);
		ck_assert_uint_le(greatest[i]->sums[0].ns, truth[key]);
		ck_assert_uint_ge(greatest[i]->sums[0].ns + top.forgotten[0].ns, truth[key]);
		if (!greatest[i]->at_least)
			ck_assert_uint_eq(greatest[i]->sums[0].ns, truth[key]);
	}
	top_done(&top);
}
END_TEST

/* Long keys fill the room for their text before there are too many of them. */
START_TEST(top_long_keys)
{
	static char key[2 * TOP_KEY_MAX];
	const struct top_sum sum = { .rows = 1 };
	const struct top_entry *greatest[1];
	struct top top = { 0 };

	ck_assert_int_eq(top_init(&top, layers, 3), 0);
	memset(key, 'x', sizeof(key));
	for (unsigned int i = 0; i < 5000; i++) {
		key[snprintf(key, 16, "%u", i)] = 'x';
		top_add(&top, key, sizeof(key), 0, &sum);
		top_add(&top, "often", 5, 0, &sum);
	}
	ck_assert_int_eq(top_greatest(&top, TOP_BY_TIME, greatest, 1), 1);
	ck_assert_uint_eq(greatest[0]->sums[0].rows, 5000);
	ck_assert_uint_gt(top.forgotten[0].rows, 0);
	top_done(&top);
}
END_TEST

/* ---- over time ---- */

START_TEST(rates)
{
	struct rate rate = { 0 };
	uint64_t sum = 0, at = 5000000000;

	for (unsigned int i = 0; i < 10000; i++) {
		rate_add(&rate, at + random_number() % 1000000000);
		at += 1000000;
	}
	rate_add(&rate, 1000000000);
	rate_add(&rate, 0);
	ck_assert_uint_le(rate.from_ns, 0);
	ck_assert_uint_eq(rate.counts[0] >= 1, true);
	for (unsigned int narrow = 0; narrow < 2; narrow++) {
		sum = 0;
		for (unsigned int i = 0; i < rate.used; i++)
			sum += rate.counts[i];
		ck_assert_uint_eq(sum, 10002);
		rate_narrow(&rate, 20);
	}
	ck_assert_uint_le(rate.used, 20);
	rate_add(&rate, UINT64_MAX);
	ck_assert_uint_le(rate.used, RATE_INTERVALS);
}
END_TEST

/* Spans that begin anywhere: not a nanosecond is lost, however wide the intervals become. */
START_TEST(spans)
{
	struct rate rate = { 0 };
	uint64_t sum = 0, truth = 0;

	rate_add_span(&rate, 5500000, 8250000);
	ck_assert_uint_eq(rate.from_ns, 8249999 - 3000000);
	ck_assert_uint_eq(rate.counts[0], 749999);
	ck_assert_uint_eq(rate.counts[1], 1000000);
	ck_assert_uint_eq(rate.counts[3], 1);
	rate_add_span(&rate, 7, 7);
	rate_add_span(&rate, 9, 8);
	ck_assert_uint_eq(rate.used, 4);
	truth = 2750000;
	for (unsigned int i = 0; i < 10000; i++) {
		uint64_t from = random_number() % 50000000000, to = from + random_number() % 3000000000;

		rate_add_span(&rate, from, to);
		truth += to - from;
	}
	for (unsigned int i = 0; i < rate.used; i++)
		sum += rate.counts[i];
	ck_assert_uint_eq(sum, truth);
	rate_add_span(&rate, 0, UINT64_MAX);
	ck_assert_uint_le(rate.used, RATE_INTERVALS);
}
END_TEST

START_TEST(heats)
{
	static struct heat heat;
	uint64_t sums[HEAT_BUCKETS] = { 0 };

	heat_add(&heat, 1000, 255);
	heat_add(&heat, 1000, 256);
	heat_add(&heat, 1000, 511);
	heat_add(&heat, 1000, UINT64_MAX);
	ck_assert_uint_eq(heat.rates[0].counts[0], 1);
	ck_assert_uint_eq(heat.rates[1].counts[0], 2);
	ck_assert_uint_eq(heat.rates[HEAT_BUCKETS - 1].counts[0], 1);
	for (unsigned int i = 0; i < 10000; i++)
		heat_add(&heat, random_number() % 50000000000, 1024 << i % 4);
	heat_narrow(&heat, 100);
	for (unsigned int bucket = 0; bucket < HEAT_BUCKETS; bucket++) {
		ck_assert_uint_eq(heat.rates[bucket].from_ns, heat.rates[0].from_ns);
		ck_assert_uint_eq(heat.rates[bucket].width_ns, heat.rates[0].width_ns);
		ck_assert_uint_eq(heat.rates[bucket].used, heat.rates[0].used);
		for (unsigned int i = 0; i < heat.rates[bucket].used; i++)
			sums[bucket] += heat.rates[bucket].counts[i];
	}
	for (unsigned int bucket = 3; bucket < 7; bucket++)
		ck_assert_uint_eq(sums[bucket], 2500);
}
END_TEST

START_TEST(sparklines)
{
	const uint64_t counts[] = { 0, 1, 50, 100 };
	char text[SPARKLINE_SIZE(4)];

	sparkline_write(counts, 4, text, sizeof(text));
	ck_assert_str_eq(text, " ▁▄█");
	sparkline_write(counts, 0, text, sizeof(text));
	ck_assert_str_eq(text, "");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, percentiles);
	tcase_add_test(tests, small_values);
	tcase_add_test(tests, top_exact);
	tcase_add_test(tests, top_layers);
	tcase_add_test(tests, top_bounded);
	tcase_add_test(tests, top_long_keys);
	tcase_add_test(tests, rates);
	tcase_add_test(tests, spans);
	tcase_add_test(tests, heats);
	tcase_add_test(tests, sparklines);
}

int main(void)
{
	return run_suite("reading", add);
}
