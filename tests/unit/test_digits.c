// SPDX-License-Identifier: GPL-2.0-or-later
#include "digits.h"

#include <inttypes.h>
#include <stdio.h>

#include "suite.h"

static char out[64];

static void check(char *end, const char *expected)
{
	*end = '\0';
	ck_assert_str_eq(out, expected);
}

static void check_number(uint64_t number)
{
	char expected[64];

	snprintf(expected, sizeof(expected), "%" PRIu64, number);
	check(digits_u64(out, number), expected);
	snprintf(expected, sizeof(expected), "%" PRId64, (int64_t)number);
	check(digits_s64(out, (int64_t)number), expected);
	snprintf(expected, sizeof(expected), "0x%" PRIx64, number);
	check(digits_hex(out, number), expected);
}

/* Around each power of ten and of two, where lengths change. */
START_TEST(writes_edges)
{
	uint64_t power = 1;

	for (int i = 0; i < 20; i++, power *= 10)
		for (uint64_t near = 0; near < 3; near++)
			check_number(power + near - 1);
	for (int i = 0; i < 64; i++)
		for (uint64_t near = 0; near < 3; near++)
			check_number((1ULL << i) + near - 1);
}
END_TEST

START_TEST(writes_small_numbers)
{
	for (uint64_t number = 0; number < 20000; number++)
		check_number(number);
}
END_TEST

START_TEST(writes_random_numbers)
{
	uint64_t state = 1;

	for (int i = 0; i < 20000; i++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		check_number(state >> i % 64);
	}
}
END_TEST

START_TEST(pads)
{
	char expected[16];

	for (unsigned int width = 1, limit = 10; width <= 8; width++, limit *= 10)
		for (uint32_t number = 0; number < limit; number += 1 + limit / 1000) {
			snprintf(expected, sizeof(expected), "%0*u", (int)width, number);
			check(digits_padded(out, number, width), expected);
		}
	check(digits_8(out, 42), "00000042");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, writes_edges);
	tcase_add_test(tests, writes_small_numbers);
	tcase_add_test(tests, writes_random_numbers);
	tcase_add_test(tests, pads);
}

int main(void)
{
	return run_suite("digits", add);
}
