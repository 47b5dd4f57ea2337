// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/paths.h"

#include <string.h>

#include "path_name.h"
#include "suite.h"

static uint64_t part(const char *name)
{
	return paths_part(name, strlen(name));
}

START_TEST(parts_have_their_length)
{
	static char name[256];

	for (size_t length = 0; length < sizeof(name); length++) {
		ck_assert_uint_eq(paths_part(name, length) & IOTR_PART_LENGTH, length);
		ck_assert(!(paths_part(name, length) & IOTR_PART_LAST));
		name[length] = 'a';
	}
}
END_TEST

START_TEST(parts_differ)
{
	ck_assert(part("a") != part("b"));
	ck_assert(part("12345678") != part("12345679"));
	ck_assert(part("1234567") != part("12345678"));
	ck_assert(part("12345678") != part("123456780"));
	ck_assert(paths_part("a\0", 2) != part("a"));
}
END_TEST

/* The kernel side has them as constants. */
START_TEST(dots_are_known)
{
	ck_assert_uint_eq(part("."), IOTR_PART_DOT);
	ck_assert_uint_eq(part(".."), IOTR_PART_DOTDOT);
	ck_assert(part("...") != IOTR_PART_DOTDOT);
}
END_TEST

static void refused(const char *path)
{
	struct iotr_session_spec spec = { .path_count = 1 };
	struct filter_error error = { 0 };
	char paths[1][PATH_MAX];

	spec.paths = paths;
	strcpy(paths[0], path);
	ck_assert_int_lt(paths_check(&spec, &error), 0);
	ck_assert_str_eq(error.parameter, "paths");
	ck_assert_str_ne(error.message, "");
}

START_TEST(checks_that_paths_are_there)
{
	struct iotr_session_spec spec = { .path_count = 1 };
	struct filter_error error = { 0 };
	char paths[1][PATH_MAX] = { "/" };

	spec.paths = paths;
	ck_assert_int_eq(paths_check(&spec, &error), 0);
	refused("/no/such/folder");
	refused("/etc/passwd/below");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, parts_have_their_length);
	tcase_add_test(tests, parts_differ);
	tcase_add_test(tests, dots_are_known);
	tcase_add_test(tests, checks_that_paths_are_there);
}

int main(void)
{
	return run_suite("paths", add);
}
