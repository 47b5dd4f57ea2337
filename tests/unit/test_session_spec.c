// SPDX-License-Identifier: GPL-2.0-or-later
#include "session_spec.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "suite.h"

static void fill(struct iotr_session_spec *spec)
{
	memset(spec, 0, sizeof(*spec));
	strcpy(spec->name, "full");
	spec->streams = 3;
	spec->pids = calloc(2, sizeof(*spec->pids));
	spec->pids[1] = 17;
	spec->pid_count = 2;
	spec->paths = calloc(1, sizeof(*spec->paths));
	strcpy(spec->paths[0], "/somewhere");
	spec->path_count = 1;
	spec->min_size = 4096;
	spec->sample[IOTR_CACHE] = 10;
	iotr_operations_add(&spec->operations[IOTR_VFS], IOTR_VFS_READ);
}

START_TEST(names_are_found)
{
	for (int filter = 0; filter < IOTR_SPEC_FILTER_COUNT; filter++) {
		ck_assert_ptr_nonnull(iotr_spec_filter_name(filter));
		ck_assert_int_eq(iotr_spec_filter_find(iotr_spec_filter_name(filter)), filter);
	}
	ck_assert_int_eq(iotr_spec_filter_find("output"), -1);
	ck_assert_int_eq(iotr_spec_filter_find(""), -1);
}
END_TEST

START_TEST(copies_own_what_they_have)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec from, to;

	fill(&from);
	ck_assert_int_eq(iotr_session_spec_copy(&to, &from), 0);
	ck_assert_ptr_ne(to.pids, from.pids);
	ck_assert_ptr_ne(to.paths, from.paths);
	from.pids[1] = 0;
	strcpy(from.paths[0], "/elsewhere");
	ck_assert_uint_eq(to.pids[1], 17);
	ck_assert_str_eq(to.paths[0], "/somewhere");
	ck_assert_uint_eq(to.streams, 3);
	ck_assert_uint_eq(to.sample[IOTR_CACHE], 10);
	ck_assert_ptr_null(to.uids);
}
END_TEST

START_TEST(takes_filters_by_themselves)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec from, to = { .min_size = 1, .errors = true };

	fill(&from);
	ck_assert_int_eq(iotr_spec_filter_take(&to, &from, IOTR_SPEC_PIDS), 0);
	ck_assert_int_eq(iotr_spec_filter_take(&to, &from, IOTR_SPEC_SAMPLE), 0);
	ck_assert_int_eq(iotr_spec_filter_take(&to, &from, IOTR_SPEC_OPERATIONS), 0);
	ck_assert_uint_eq(to.pid_count, 2);
	ck_assert_ptr_ne(to.pids, from.pids);
	ck_assert_uint_eq(to.sample[IOTR_CACHE], 10);
	ck_assert(iotr_operations_have(&to.operations[IOTR_VFS], IOTR_VFS_READ));
	ck_assert_uint_eq(to.min_size, 1);
	ck_assert_uint_eq(to.path_count, 0);
	ck_assert_int_eq(iotr_spec_filter_take(&to, NULL, IOTR_SPEC_PIDS), 0);
	ck_assert_int_eq(iotr_spec_filter_take(&to, NULL, IOTR_SPEC_MIN_SIZE), 0);
	ck_assert_uint_eq(to.pid_count, 0);
	ck_assert_ptr_null(to.pids);
	ck_assert_uint_eq(to.min_size, 0);
	ck_assert(to.errors);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, names_are_found);
	tcase_add_test(tests, copies_own_what_they_have);
	tcase_add_test(tests, takes_filters_by_themselves);
}

int main(void)
{
	return run_suite("session_spec", add);
}
