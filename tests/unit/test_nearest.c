// SPDX-License-Identifier: GPL-2.0-or-later
#include "nearest.h"

#include <string.h>

#include "suite.h"

static const char *nearest(const char *word)
{
	static const char *const words[] = { "start", "stop", "status", "set", "snapshot", "vfs", "EPOLL_WAIT" };
	struct iotr_nearest nearest = { .word = word };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		iotr_nearest_try(&nearest, words[i]);
	return nearest.best;
}

START_TEST(slips)
{
	ck_assert_str_eq(nearest("strat"), "start"); /* two letters swapped */
	ck_assert_str_eq(nearest("stp"), "stop");    /* a letter left out */
	ck_assert_str_eq(nearest("startt"), "start");
	ck_assert_str_eq(nearest("zfs"), "vfs");
	ck_assert_str_eq(nearest("epol_wait"), "EPOLL_WAIT");
}
END_TEST

START_TEST(beginnings)
{
	ck_assert_str_eq(nearest("snap"), "snapshot");
	ck_assert_str_eq(nearest("stat"), "status");
}
END_TEST

START_TEST(nothing_near)
{
	char longest[200];

	ck_assert_ptr_null(nearest(""));
	ck_assert_ptr_null(nearest("x"));
	ck_assert_ptr_null(nearest("frobnicate"));
	memset(longest, 's', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	ck_assert_ptr_null(nearest(longest));
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, slips);
	tcase_add_test(tests, beginnings);
	tcase_add_test(tests, nothing_near);
}

int main(void)
{
	return run_suite("nearest", add);
}
