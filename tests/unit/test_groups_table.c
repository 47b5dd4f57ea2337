// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/groups_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "session/groups.h"
#include "suite.h"

enum { SINCE = 100, UNTIL = 1000 };

static struct groups_table table;

static void begin(void)
{
	table = (struct groups_table){ 0 };
}

static void end(void)
{
	groups_table_clear(&table);
}

static void tell(uint64_t id, uint64_t parent, const char *name, uint64_t ns, bool gone)
{
	struct iotr_cgroup_event event = { .id = id, .parent = parent, .mono_ns = ns, .gone = gone };

	snprintf(event.name, sizeof(event.name), "%s", name);
	groups_table_add(&table, &event);
}

static void walk(uint64_t began_ns, bool all, size_t count, const uint64_t ids[], const char *const names[])
{
	struct groups_found found = { 0 };

	groups_found_add(&found, 1, 0, "");
	for (size_t i = 0; i < count; i++)
		groups_found_add(&found, ids[i], 1, names[i]);
	groups_table_merge(&table, &found, began_ns, all);
	groups_found_done(&found);
}

/* The list, as text. */
static const char *listed(uint64_t since, bool whole, uint64_t *left_out)
{
	static char text[400000];
	struct cgroup_list *list = cgroup_list_new();
	char *at = text;

	list->from_ns = since;
	list->to_ns = UNTIL;
	ck_assert_int_eq(groups_table_list(&table, list, whole), 0);
	cgroup_list_sort(list);
	*at = '\0';
	for (size_t i = 0; i < list->count; i++)
		at += sprintf(at, "%" PRIu64 " %s %" PRIu64 "-%" PRIu64 "\n", list->entries[i].id,
			      cgroup_list_path(list, &list->entries[i]), list->entries[i].first_ns,
			      list->entries[i].last_ns);
	if (left_out)
		*left_out = list->left_out;
	cgroup_list_free(list);
	return text;
}

/* Whatever comes first of a walk and what is told meanwhile, the list is the same. */
START_TEST(order)
{
	static const uint64_t ids[] = { 10, 20 };
	static const char *const names[] = { "a", "b" };

	for (int late = 0; late < 2; late++) {
		groups_table_clear(&table);
		if (!late)
			walk(90, false, 2, ids, names);
		tell(30, 20, "c", 200, false);
		tell(30, 20, "c", 210, true);
		tell(10, 1, "a", 220, true);
		if (late)
			walk(90, false, 2, ids, names);
		ck_assert_str_eq(listed(SINCE, true, NULL), "1 / 100-1000\n10 /a 100-220\n20 /b 100-1000\n30 /b/c 200-210\n");
	}
}
END_TEST

/* One that was removed before the walk saw it is told of when it goes. */
START_TEST(only_removed)
{
	walk(90, false, 0, NULL, NULL);
	tell(40, 1, "gone", 150, true);
	ck_assert_str_eq(listed(SINCE, true, NULL), "1 / 100-1000\n40 /gone 100-150\n");
}
END_TEST

START_TEST(sessions_that_began_later)
{
	walk(90, false, 0, NULL, NULL);
	tell(40, 1, "early", 110, false);
	tell(40, 1, "early", 150, true);
	tell(50, 1, "late", 160, false);
	ck_assert_str_eq(listed(155, true, NULL), "1 / 155-1000\n50 /late 160-1000\n");
	groups_table_forget(&table, 155);
	ck_assert_str_eq(listed(SINCE, true, NULL), "1 / 100-1000\n50 /late 160-1000\n");
}
END_TEST

/* Where the root is not the hierarchy's, or what is above is not known, a path begins with "...". */
START_TEST(unknown_above)
{
	walk(90, false, 0, NULL, NULL);
	tell(40, 1, "in", 110, false);
	tell(60, 55, "out", 120, false);
	ck_assert_str_eq(listed(SINCE, false, NULL), "1 ... 100-1000\n40 .../in 110-1000\n60 .../out 120-1000\n");
	ck_assert_str_eq(listed(SINCE, true, NULL), "1 / 100-1000\n40 /in 110-1000\n60 .../out 120-1000\n");
}
END_TEST

START_TEST(long_paths)
{
	char name[IOTR_CGROUP_NAME];
	const char *text;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	walk(90, false, 0, NULL, NULL);
	for (uint64_t id = 2; id < 40; id++)
		tell(id, id - 1, name, 110, false);
	text = strstr(listed(SINCE, true, NULL), "\n39 ") + 4;
	ck_assert_msg(!strncmp(text, ".../nnn", 7), "%.20s", text);
	ck_assert_uint_lt(strcspn(text, " "), GROUPS_PATH_MAX);
	ck_assert_uint_gt(strcspn(text, " "), GROUPS_PATH_MAX - 300);
}
END_TEST

/* A walk after events were lost tells which ones have vanished; of those made since it began it knows nothing. */
START_TEST(vanished_unseen)
{
	static const uint64_t ids[] = { 10 };
	static const char *const names[] = { "a" };

	walk(90, false, 0, NULL, NULL);
	tell(10, 1, "a", 110, false);
	tell(20, 1, "b", 120, false);
	tell(30, 1, "c", 330, false);
	walk(300, false, 1, ids, names);
	ck_assert_str_eq(listed(SINCE, true, NULL), "1 / 100-1000\n10 /a 110-1000\n20 /b 120-1000\n30 /c 330-1000\n");
	walk(300, true, 1, ids, names);
	ck_assert_str_eq(listed(SINCE, true, NULL), "1 / 100-1000\n10 /a 110-1000\n20 /b 120-300\n30 /c 330-1000\n");
}
END_TEST

START_TEST(versions)
{
	uint64_t version;

	walk(90, false, 0, NULL, NULL);
	version = table.version;
	walk(95, false, 0, NULL, NULL);
	ck_assert_uint_eq(table.version, version);
	tell(10, 1, "a", 110, false);
	ck_assert_uint_ne(table.version, version);
	version = table.version;
	tell(10, 1, "a", 120, true);
	ck_assert_uint_ne(table.version, version);
	version = table.version;
	groups_table_clear(&table);
	ck_assert_uint_ne(table.version, version);
}
END_TEST

/* What there is no room for is counted, for the sessions of that time. */
START_TEST(full)
{
	struct cgroup_list *list = cgroup_list_new();

	for (uint64_t id = 1; id <= GROUPS_MAX; id++)
		tell(id, id > 1, "x", 110, false);
	for (uint64_t id = 1; id <= 3; id++)
		tell(GROUPS_MAX + id, 1, "y", 500, false);
	tell(GROUPS_MAX + 1, 1, "y", 510, true);
	list->from_ns = SINCE;
	list->to_ns = UNTIL;
	ck_assert_int_eq(groups_table_list(&table, list, true), 0);
	ck_assert_uint_eq(list->count, GROUPS_MAX);
	ck_assert_uint_eq(list->left_out, 3);
	cgroup_list_free(list);
	for (uint64_t id = 2; id <= GROUPS_MAX; id++)
		tell(id, 1, "x", 520, true);
	groups_table_forget(&table, 550);
	ck_assert_uint_eq(table.count, 1);
	tell(GROUPS_MAX + 9, 1, "z", 600, false);
	list = cgroup_list_new();
	list->from_ns = 550;
	list->to_ns = UNTIL;
	ck_assert_int_eq(groups_table_list(&table, list, true), 0);
	ck_assert_uint_eq(list->left_out, 0);
	ck_assert_uint_eq(list->count, 2);
	cgroup_list_free(list);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, order);
	tcase_add_test(tests, only_removed);
	tcase_add_test(tests, sessions_that_began_later);
	tcase_add_test(tests, unknown_above);
	tcase_add_test(tests, long_paths);
	tcase_add_test(tests, vanished_unseen);
	tcase_add_test(tests, versions);
	tcase_add_test(tests, full);
}

int main(void)
{
	return run_suite("groups_table", add);
}
