// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow.h"

#include "suite.h"

#define THREADS	    (1U << 22) /* the largest number of a thread that Linux gives */
#define SECOND	    1000000000ULL
#define DAYS_104    (104 * 86400 * SECOND)
#define DIFFERENCES 100000

START_TEST(a_double_has_it)
{
	ck_assert_uint_lt(iotr_flow(THREADS, ~0ULL >> 1), 1ULL << 53);
	ck_assert_uint_eq(iotr_flow(0, (1ULL << 53) - 1), (1ULL << 53) - 1);
}
END_TEST

/* The difference of two times is that of the numbers, so it is enough to look at how large it may become. */
START_TEST(differs_within_a_thread)
{
	ck_assert_uint_lt(DAYS_104, 1ULL << 53);
	for (uint64_t i = 1; i < DIFFERENCES; i++)
		ck_assert_uint_ne(iotr_flow(77, DAYS_104), iotr_flow(77, DAYS_104 - i * (DAYS_104 / DIFFERENCES)));
}
END_TEST

/* Of all threads, numbers for the same time are more than a second apart. */
START_TEST(differs_between_threads)
{
	for (__u32 apart = 1; apart < THREADS; apart++) {
		uint64_t ahead = (iotr_flow(apart, 0) - iotr_flow(0, 0)) & IOTR_FLOW_MASK;

		if (ahead <= SECOND || IOTR_FLOW_MASK - ahead < SECOND)
			ck_abort_msg("threads %u apart", apart);
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, a_double_has_it);
	tcase_add_test(tests, differs_within_a_thread);
	tcase_add_test(tests, differs_between_threads);
}

int main(void)
{
	return run_suite("flow", add);
}
