// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/vitals.h"

#include "suite.h"

/* Only a thread that has to go on, and was seen at the same place twice, stands still, from the second look on. */
START_TEST(stands_still)
{
	struct vitals vitals = { 0 };

	ck_assert_uint_eq(vitals_look(&vitals, true, 1, 100), 0);
	ck_assert_uint_eq(vitals_look(&vitals, true, 1, 200), 0);
	ck_assert_uint_eq(vitals_look(&vitals, true, 1, 350), 150);
	ck_assert_uint_eq(vitals_look(&vitals, true, 2, 400), 0);
	ck_assert_uint_eq(vitals_look(&vitals, true, 2, 500), 0);
	ck_assert_uint_eq(vitals_look(&vitals, false, 2, 600), 0);
	ck_assert_uint_eq(vitals_look(&vitals, true, 2, 700), 0);
	ck_assert_uint_eq(vitals_look(&vitals, true, 2, 701), 1);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, stands_still);
}

int main(void)
{
	return run_suite("vitals", add_tests);
}
