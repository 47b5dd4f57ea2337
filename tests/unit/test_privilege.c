// SPDX-License-Identifier: GPL-2.0-or-later
#include "privilege.h"

#include <stdio.h>
#include <sys/capability.h>
#include <unistd.h>

#include "privilege.def"
#include "suite.h"

#define BIT(capability, reason) | UINT64_C(1) << (capability)
static const uint64_t table = 0 IOTR_CAPABILITIES(BIT);

static uint64_t own(cap_flag_t flag)
{
	cap_t set = cap_get_proc();
	uint64_t found = 0;

	for (cap_value_t one = 0; one < cap_max_bits(); one++) {
		cap_flag_value_t value = CAP_CLEAR;

		ck_assert_int_eq(cap_get_flag(set, one, flag, &value), 0);
		found |= (uint64_t)(value == CAP_SET) << one;
	}
	cap_free(set);
	return found;
}

START_TEST(keeps_the_table_alone)
{
	uint64_t before = own(CAP_PERMITTED);

	if (geteuid() || !(before & ~table))
		return; /* nothing to give up */
	ck_assert_int_eq(privilege_reduce(false), 0);
	ck_assert_uint_eq(own(CAP_PERMITTED), before & table);
	ck_assert_uint_eq(own(CAP_EFFECTIVE), before & table);
	ck_assert_uint_eq(own(CAP_INHERITABLE), 0);
	ck_assert_int_eq(privilege_reduce(false), 0); /* the right to change the bounding set is gone, and not needed */
}
END_TEST

START_TEST(keeps_one_more)
{
	uint64_t before = own(CAP_PERMITTED);

	if (geteuid())
		return;
	ck_assert_int_eq(privilege_reduce(true), 0);
	ck_assert_uint_eq(own(CAP_EFFECTIVE), before & (table | UINT64_C(1) << CAP_SYS_NICE));
}
END_TEST

/* What root starts gets all that the bounding set has. */
START_TEST(programs_get_no_more)
{
	unsigned long long effective = ~0ULL;
	FILE *shown;

	if (geteuid())
		return;
	ck_assert_int_eq(privilege_reduce(false), 0);
	shown = popen("sed -n 's/^CapEff://p' /proc/self/status", "re");
	ck_assert_ptr_nonnull(shown);
	ck_assert_int_eq(fscanf(shown, "%llx", &effective), 1);
	pclose(shown);
	ck_assert_uint_eq(effective & ~table, 0);
	ck_assert_uint_ne(effective, 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, keeps_the_table_alone);
	tcase_add_test(tests, keeps_one_more);
	tcase_add_test(tests, programs_get_no_more);
}

int main(void)
{
	return run_suite("privilege", add);
}
