// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow.h"

#include "suite.h"

#define TICK	    (1ULL << IOTR_FLOW_TICK_SHIFT)
#define DAY	    (86400 * 1000000000ULL)
#define BITS_MAX    13 /* x86 kernels are built for 8192 CPUs at most */
#define DIFFERENCES 100000

START_TEST(a_double_has_it)
{
	ck_assert_uint_eq(iotr_flow((1U << BITS_MAX) - 1, BITS_MAX, ~0ULL), IOTR_FLOW_MASK);
	ck_assert_uint_lt(IOTR_FLOW_MASK, 1ULL << 53);
}
END_TEST

/* On one CPU each tick has a number of its own for months. */
START_TEST(differs_in_time)
{
	for (uint64_t i = 1; i < DIFFERENCES; i++) {
		ck_assert_uint_ne(iotr_flow(5, 6, 208 * DAY), iotr_flow(5, 6, 208 * DAY - i * TICK));
		ck_assert_uint_ne(iotr_flow(5, 6, 208 * DAY), iotr_flow(5, 6, 208 * DAY - i * (208 * DAY / DIFFERENCES)));
	}
}
END_TEST

/* No two CPUs have a number in common, at whatever times. */
START_TEST(differs_between_cpus)
{
	for (uint32_t bits = 0; bits <= BITS_MAX; bits++)
		for (uint32_t cpu = 0; cpu < 1U << bits; cpu++)
			for (uint64_t at = 1; at < 1ULL << 60; at *= 37)
				ck_assert_uint_eq(iotr_flow(cpu, bits, at) & ((1U << bits) - 1), cpu);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, a_double_has_it);
	tcase_add_test(tests, differs_in_time);
	tcase_add_test(tests, differs_between_cpus);
}

int main(void)
{
	return run_suite("flow", add);
}
