// SPDX-License-Identifier: GPL-2.0-or-later
#include "writer/losses.h"

#include <stdio.h>
#include <string.h>

#include "clocks.h"
#include "log.h"
#include "suite.h"

static struct losses *losses;
static struct losses_counts counts;

static void give(struct losses_counts *ret, void *userdata)
{
	(void)userdata;
	*ret = counts;
}

static bool look(void)
{
	return losses_look(losses, give, NULL, NULL);
}

static uint64_t number(struct json_object *entry, const char *key)
{
	return json_object_get_uint64(json_object_object_get(entry, key));
}

static const char *text(struct json_object *entry, const char *key)
{
	return json_object_get_string(json_object_object_get(entry, key));
}

static uint64_t sum(struct json_object *list, const char *stream, const char *cause)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);

		if (!strcmp(text(entry, "stream"), stream) && !strcmp(text(entry, "cause"), cause))
			rows += number(entry, "rows");
	}
	return rows;
}

static void begin(void)
{
	counts = (struct losses_counts){ 0 };
	ck_assert_int_eq(losses_new("session", &losses), 0);
}

START_TEST(tells_when)
{
	struct json_object *list, *entry;
	uint64_t before = clocks_mono_ns();

	begin();
	ck_assert(!look());
	counts.rows[IOTR_VFS][LOSS_RING] = 7;
	ck_assert(look());
	list = losses_describe(losses, LOSSES_MAX);
	ck_assert_uint_eq(json_object_array_length(list), 1);
	entry = json_object_array_get_idx(list, 0);
	ck_assert_str_eq(text(entry, "stream"), "vfs");
	ck_assert_str_eq(text(entry, "cause"), "ring");
	ck_assert_uint_eq(number(entry, "rows"), 7);
	ck_assert_uint_ge(number(entry, "from_mono_ns"), before);
	ck_assert_uint_ge(number(entry, "to_mono_ns"), number(entry, "from_mono_ns"));
	ck_assert_uint_le(number(entry, "to_mono_ns"), clocks_mono_ns());
	ck_assert_str_le(text(entry, "from"), text(entry, "to"));
	ck_assert(!json_object_object_get(entry, "looks"));
	ck_assert(!look());
	json_object_put(list);
	losses_free(losses);
}
END_TEST

START_TEST(is_bounded_and_adds_up)
{
	struct json_object *list;
	uint64_t last = 0;

	begin();
	for (uint64_t i = 1; i <= 5000; i++) {
		counts.rows[IOTR_VFS][LOSS_RING] += i;
		counts.rows[IOTR_BLOCK][LOSS_DISK] += i % 3;
		look();
	}
	list = losses_describe(losses, SIZE_MAX);
	ck_assert_uint_le(json_object_array_length(list), LOSSES_MAX);
	ck_assert_uint_ge(json_object_array_length(list), LOSSES_MAX / 2 - 2);
	ck_assert_uint_eq(sum(list, "vfs", "ring"), 5000 * 5001 / 2);
	ck_assert_uint_eq(sum(list, "block", "disk"), counts.rows[IOTR_BLOCK][LOSS_DISK]);
	ck_assert_uint_gt(number(json_object_array_get_idx(list, 0), "looks"), 1);
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);

		ck_assert_uint_le(number(entry, "from_mono_ns"), number(entry, "to_mono_ns"));
		if (strcmp(text(entry, "stream"), "vfs"))
			continue;
		ck_assert_uint_ge(number(entry, "from_mono_ns"), last);
		last = number(entry, "to_mono_ns");
	}
	json_object_put(list);
	list = losses_describe(losses, 3);
	ck_assert_uint_eq(json_object_array_length(list), 3);
	json_object_put(list);
	losses_free(losses);
}
END_TEST

/* Rows that the queue lost are later counted as lost by the disk, which had stopped answering. */
START_TEST(follows_a_cause_that_changes)
{
	struct json_object *list, *entry;
	uint64_t began;

	begin();
	for (int i = 0; i < 3; i++) {
		counts.rows[IOTR_VFS][LOSS_QUEUE] += 10;
		look();
	}
	list = losses_describe(losses, LOSSES_MAX);
	began = number(json_object_array_get_idx(list, 1), "from_mono_ns");
	json_object_put(list);
	counts.rows[IOTR_VFS][LOSS_QUEUE] -= 15;
	counts.rows[IOTR_VFS][LOSS_DISK] += 20;
	look();
	list = losses_describe(losses, LOSSES_MAX);
	ck_assert_uint_eq(sum(list, "vfs", "queue"), 15);
	ck_assert_uint_eq(sum(list, "vfs", "disk"), 20);
	entry = json_object_array_get_idx(list, json_object_array_length(list) - 1);
	ck_assert_str_eq(text(entry, "cause"), "disk");
	ck_assert_uint_eq(number(entry, "from_mono_ns"), began);
	json_object_put(list);
	losses_free(losses);
}
END_TEST

static char told[8][512];
static size_t told_count;

void __wrap_log_message(const struct log_about *about, const char *format, ...);
void __wrap_log_message(const struct log_about *about, const char *format, ...)
{
	(void)format;
	ck_assert_int_eq(about->kind, LOG_ROWS_LOST);
	ck_assert_str_eq(about->session, "session");
	ck_assert_str_le(about->from, about->to);
	snprintf(told[told_count++ % 8], sizeof(told[0]), "%s %s %d", about->stream, about->cause, (int)about->rows);
}

/* A stream and a cause at once, and then once within a minute, with all that was lost meanwhile; at the end all of it. */
START_TEST(log_is_not_flooded)
{
	const uint64_t start = 1000, minute = LOSSES_LOG_EVERY_NS;

	begin();
	told_count = 0;
	for (uint64_t second = 0; second < 59; second++) {
		counts.rows[IOTR_VFS][LOSS_RING] += 2;
		look();
		losses_log(losses, start + second * 1000000000, false);
	}
	ck_assert_uint_eq(told_count, 1);
	ck_assert_str_eq(told[0], "vfs ring 2");
	counts.rows[IOTR_VFS][LOSS_DISK] += 5;
	look();
	losses_log(losses, start + minute - 1, false);
	ck_assert_uint_eq(told_count, 2);
	ck_assert_str_eq(told[1], "vfs disk 5");
	losses_log(losses, start + minute, false);
	ck_assert_uint_eq(told_count, 3);
	ck_assert_str_eq(told[2], "vfs ring 116");
	losses_log(losses, start + 3 * minute, true);
	ck_assert_uint_eq(told_count, 3);
	counts.rows[IOTR_VFS][LOSS_RING]++;
	look();
	losses_log(losses, start + minute + 1, false);
	ck_assert_uint_eq(told_count, 3);
	losses_log(losses, start + minute + 2, true);
	ck_assert_uint_eq(told_count, 4);
	ck_assert_str_eq(told[3], "vfs ring 1");
	losses_free(losses);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, tells_when);
	tcase_add_test(tests, is_bounded_and_adds_up);
	tcase_add_test(tests, follows_a_cause_that_changes);
	tcase_add_test(tests, log_is_not_flooded);
}

int main(void)
{
	return run_suite("losses", add_tests);
}
