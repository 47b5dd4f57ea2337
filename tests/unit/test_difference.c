// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/difference.h"

#include <math.h>
#include <stdlib.h>

#include "suite.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t state;

static double draw(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

/* So many values with that median, spread over powers of ten. */
static struct histogram *values(unsigned int count, double median)
{
	struct histogram *histogram = calloc(1, sizeof(*histogram));

	for (unsigned int i = 0; i < count; i++)
		histogram_add(histogram, (uint64_t)(median * exp(2 * (draw() + draw() - 1))));
	return histogram;
}

static const struct {
	struct sample a, b;
	enum direction direction;
} rates[] = {
	{ { 0, 1, 1, 0 }, { 0, 1, 1, 0 }, SAME },
	{ { 1000, 10, 1, 0 }, { 1000, 10, 1, 0 }, SAME },
	{ { 1000, 10, 1, 0 }, { 1050, 10, 1, 0 }, SAME },
	{ { 1000, 10, 1, 0 }, { 1300, 10, 1, 0 }, UP },
	{ { 1300, 10, 1, 0 }, { 1000, 10, 1, 0 }, DOWN },
	{ { 1000, 10, 20, 0 }, { 1300, 10, 20, 0 }, SAME }, /* in bursts */
	{ { 1000, 10, 1, 0 }, { 2000, 20, 1, 0 }, SAME },
	{ { 1000, 10, 1, 0 }, { 1000, 20, 1, 0 }, DOWN },
	{ { 100000000, 10, 1, 0 }, { 102000000, 10, 1, 0 }, SAME }, /* certain, but little */
	{ { 3, 10, 1, 0 }, { 7, 10, 1, 0 }, SAME },
	{ { 6, 10, 1, 0 }, { 0, 10, 1, 0 }, SAME },
	{ { 7, 10, 1, 0 }, { 0, 10, 1, 0 }, DOWN },
	{ { 7, 10, 1, 0 }, { 0, 5, 1, 0 }, SAME },
	{ { 7, 10, 2, 0 }, { 0, 10, 1, 0 }, SAME },
	{ { 0, 10, 1, 0 }, { 7, 10, 1, 0 }, UP },
	/* What looks fewer may be missing, what looks more is more all the same. */
	{ { 1300, 10, 1, 0 }, { 1000, 10, 1, 200 }, SAME },
	{ { 1300, 10, 1, 0 }, { 1000, 10, 1, 20 }, DOWN },
	{ { 1300, 10, 1, 0 }, { 1000, 10, 1, INFINITY }, SAME },
	{ { 1000, 10, 1, 0 }, { 1300, 10, 1, INFINITY }, UP },
	{ { 1000, 10, 1, 200 }, { 1300, 10, 1, 0 }, SAME },
	{ { 1000, 10, 1, INFINITY }, { 1300, 10, 1, 0 }, SAME },
	{ { 20, 10, 1, 0 }, { 0, 10, 1, 5 }, DOWN },
	{ { 20, 10, 1, 0 }, { 0, 10, 1, 15 }, SAME },
	{ { 20, 10, 1, 0 }, { 0, 10, 1, INFINITY }, SAME },
	{ { 0, 10, 1, 15 }, { 20, 10, 1, 0 }, SAME },
};

START_TEST(tells_rates)
{
	struct change change = rate_change(&rates[_i].a, &rates[_i].b);

	ck_assert_int_eq(change.direction, rates[_i].direction);
	ck_assert_int_eq(change.known, rates[_i].a.count && rates[_i].b.count);
	if (change.known)
		ck_assert(change.low < change.ratio && change.ratio < change.high);
}
END_TEST

/* Events by chance are Poisson's, and those in bursts are not. */
START_TEST(knows_bursts)
{
	struct rate *even = calloc(1, sizeof(*even)), *bursts = calloc(1, sizeof(*bursts)), *few = calloc(1, sizeof(*few));

	state = 5;
	for (int i = 0; i < 20000; i++)
		rate_add(even, 1000000000 + (uint64_t)(draw() * 1e10));
	for (int i = 0; i < 200; i++) {
		uint64_t at = 1000000000 + (uint64_t)(draw() * 1e10);

		for (int j = 0; j < 100; j++)
			rate_add(bursts, at);
	}
	rate_add(few, 1000000000);
	ck_assert(rate_dispersion(even) < 1.6);
	ck_assert(rate_dispersion(bursts) > 50);
	ck_assert(rate_dispersion(few) <= 1 && rate_dispersion(&(struct rate){ 0 }) <= 1);
	free(even);
	free(bursts);
	free(few);
}
END_TEST

/* Of two samples of the same values hardly any differ; of other ones all do, once there are enough. */
START_TEST(tells_percentiles)
{
	static const double percents[] = { 50, 90, 99 };
	unsigned int wrong = 0, found = 0;

	state = 9;
	for (unsigned int i = 0; i < 200; i++) {
		struct histogram *a = values(4000, 10000), *b = values(4000, 10000), *c = values(4000, 15000);

		for (size_t j = 0; j < LENGTH(percents); j++) {
			struct percentile before = percentile_of(a, percents[j]), same = percentile_of(b, percents[j]);
			struct percentile slower = percentile_of(c, percents[j]);

			ck_assert(before.known && before.low <= before.value && before.value <= before.high);
			wrong += percentile_change(&before, &same) != SAME;
			found += percentile_change(&before, &slower) == UP && percentile_change(&slower, &before) == DOWN;
		}
		free(a);
		free(b);
		free(c);
	}
	ck_assert_uint_le(wrong, 2);
	ck_assert_uint_ge(found, 560);
}
END_TEST

static struct typical typical_values(unsigned int count, double median)
{
	struct typical typical = { 0 };

	for (unsigned int i = 0; i < count; i++) {
		struct typical one = typical_of((uint64_t)(median * exp(2 * (draw() + draw() - 1))), 0);

		typical_add(&typical, &one);
	}
	return typical;
}

/* Of few and of many values: the truth lies in the interval but for once in a thousand times. */
START_TEST(tells_typical_latencies)
{
	static const unsigned int counts[] = { 20, 200, 4000 };
	unsigned int missed = 0, wrong = 0, found = 0;

	state = 11;
	for (unsigned int i = 0; i < 3000; i++) {
		unsigned int count = counts[i % LENGTH(counts)];
		struct typical a = typical_values(count, 10000), b = typical_values(count / 2 + 10, 10000);
		struct typical c = typical_values(count, 12000);
		struct change same = typical_change(&a, &b), slower = typical_change(&a, &c);
		struct change faster = typical_change(&c, &a);

		ck_assert(same.known && same.low <= same.ratio && same.ratio <= same.high);
		wrong += same.direction != SAME;
		missed += slower.low > 1.2 || slower.high < 1.2;
		found += slower.direction == UP && faster.direction == DOWN;
	}
	ck_assert_uint_le(wrong, 8);
	ck_assert_uint_le(missed, 8);
	ck_assert(found >= 1000 && found < 2500);
}
END_TEST

START_TEST(knows_typical_latencies)
{
	struct typical few = typical_values(19, 1000), many = typical_values(1000, 1000);
	struct typical far = typical_values(1000, 100000);
	struct typical alike = { 0 }, none = { 0 }, nothing = typical_of(0, 0), two = typical_of(100, 0);
	struct typical more = typical_of(10000, 0);

	ck_assert(!typical_change(&few, &far).known && !typical_change(&far, &few).known &&
		  !typical_change(&none, &far).known);
	ck_assert_int_eq(typical_change(&few, &far).direction, SAME);
	ck_assert_int_eq(typical_change(&many, &far).direction, UP);
	ck_assert(fabs(typical_value(&none)) <= 0 && fabs(typical_value(&nothing) - 1) < 1e-9);
	typical_add(&two, &more);
	ck_assert(fabs(typical_value(&two) - 1000) < 1e-6);
	for (unsigned int i = 0; i < 1000000; i++)
		typical_add(&alike, &nothing);
	ck_assert(typical_variance(&alike) >= 0 && typical_change(&alike, &many).direction == UP);
	ck_assert_int_eq(typical_change(&alike, &alike).direction, SAME);
	two = typical_of(800, 3);
	ck_assert(fabs(typical_value(&two) - 100) < 1e-6);
}
END_TEST

START_TEST(knows_what_it_does_not_know)
{
	struct histogram *few = values(8, 1000), *many = values(1000, 1000), *none = values(0, 1);
	struct percentile little = percentile_of(few, 50), median = percentile_of(many, 50), tail = percentile_of(many, 99.9);
	struct percentile nothing = percentile_of(none, 50), far = { 100000, 99000, 101000, true };

	ck_assert(!little.known && little.value);
	ck_assert(median.known && !tail.known);
	ck_assert(!nothing.known && !nothing.value);
	ck_assert_int_eq(percentile_change(&little, &far), SAME);
	ck_assert_int_eq(percentile_change(&median, &far), UP);
	free(few);
	free(many);
	free(none);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, tells_rates, 0, LENGTH(rates));
	tcase_add_test(tests, knows_bursts);
	tcase_add_test(tests, tells_percentiles);
	tcase_add_test(tests, tells_typical_latencies);
	tcase_add_test(tests, knows_typical_latencies);
	tcase_add_test(tests, knows_what_it_does_not_know);
}

int main(void)
{
	return run_suite("difference", add);
}
