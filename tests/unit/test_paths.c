// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/paths_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The BPF programs have the hashes of "." and ".." as constants. */
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
	struct paths_found *found = NULL;
	char paths[1][PATH_MAX];

	spec.paths = paths;
	strcpy(paths[0], path);
	ck_assert_int_lt(paths_find(&spec, &found, &error), 0);
	ck_assert_str_eq(error.parameter, "paths");
	ck_assert_str_ne(error.message, "");
}

START_TEST(checks_that_paths_are_there)
{
	struct iotr_session_spec spec = { .path_count = 1 };
	struct filter_error error = { 0 };
	struct paths_found *found = NULL;
	char paths[1][PATH_MAX] = { "/" };

	spec.paths = paths;
	ck_assert_int_eq(paths_find(&spec, &found, &error), 0);
	ck_assert_uint_eq(found->count, 1);
	ck_assert(found->folders[0].named);
	paths_found_free(found);
	refused("/no/such/folder");
	refused("/etc/passwd/below");
}
END_TEST

/* A symbolic link, its target and their folder: each is found once, and the folders above them are not named. */
START_TEST(finds_what_is_on_the_way)
{
	char folder[] = "/tmp/iotracer-test-XXXXXX", paths[3][PATH_MAX], deep[PATH_MAX], link[PATH_MAX];
	struct iotr_session_spec spec = { .paths = paths, .path_count = 3 };
	struct paths_found *found = NULL;
	struct filter_error error = { 0 };
	struct stat status;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(deep, sizeof(deep), "%s/deep", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	mkdir(deep, 0755);
	ck_assert_int_eq(symlink("deep", link), 0);
	snprintf(paths[0], PATH_MAX, "%s", link);
	snprintf(paths[1], PATH_MAX, "/%s/./link//", folder);
	snprintf(paths[2], PATH_MAX, "%s", folder);
	stat(deep, &status);
	ck_assert_int_eq(paths_find(&spec, &found, &error), 0);
	ck_assert_uint_eq(found->count, 5); /* root, tmp, the folder, deep, link */
	for (size_t i = 0; i < found->count; i++) {
		ck_assert_int_eq(found->folders[i].named, i >= 2);
		ck_assert(!i || found->folders[i].parent < i);
	}
	ck_assert_uint_eq(found->folders[3].name, part("deep"));
	ck_assert_uint_eq(found->folders[3].inode, status.st_ino);
	ck_assert_uint_eq(found->folders[4].name, part("link"));
	ck_assert_uint_eq(found->folders[4].inode, status.st_ino);
	ck_assert_uint_eq(found->folders[4].parent, found->folders[3].parent);
	paths_found_free(found);
	unlink(link);
	rmdir(deep);
	rmdir(folder);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, parts_have_their_length);
	tcase_add_test(tests, parts_differ);
	tcase_add_test(tests, dots_are_known);
	tcase_add_test(tests, checks_that_paths_are_there);
	tcase_add_test(tests, finds_what_is_on_the_way);
}

int main(void)
{
	return run_suite("paths", add);
}
