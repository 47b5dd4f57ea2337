// SPDX-License-Identifier: GPL-2.0-or-later
#include "spec/trigger_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "events.h"
#include "suite.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define MS	      1000000ULL
#define S	      1000000000ULL

static const struct iotr_trigger good[] = {
	{ .text = "vfs.FSYNC p99 > 50ms for 10s", .above = 50 * MS, .for_ns = 10 * S, .stream = IOTR_VFS,
	  .operation = IOTR_VFS_FSYNC, .measure = IOTR_MEASURE_PERCENTILE, .permille = 990 },
	{ .text = "vfs.WRITE p99.9>1us", .above = 1000, .stream = IOTR_VFS, .operation = IOTR_VFS_WRITE,
	  .measure = IOTR_MEASURE_PERCENTILE, .permille = 999 },
	{ .text = "block.READ  max\t> 5m for 1h", .above = 300 * S, .for_ns = 3600 * S, .stream = IOTR_BLOCK,
	  .operation = IOTR_BLOCK_READ, .measure = IOTR_MEASURE_MAX },
	{ .text = "vfs.DIO_READ mean > 1ms", .above = MS, .stream = IOTR_VFS, .operation = IOTR_VFS_DIO_READ,
	  .measure = IOTR_MEASURE_MEAN },
	{ .text = "vfs.OPEN rate > 1000000000/s", .above = 1000000000, .stream = IOTR_VFS, .operation = IOTR_VFS_OPEN,
	  .measure = IOTR_MEASURE_RATE },
	{ .text = "vfs.OPEN errors > 10", .above = 10, .stream = IOTR_VFS, .operation = IOTR_VFS_OPEN,
	  .measure = IOTR_MEASURE_ERRORS },
	{ .text = "vfs.WRITE ENOSPC > 0/s", .stream = IOTR_VFS, .operation = IOTR_VFS_WRITE, .measure = IOTR_MEASURE_ERRNO,
	  .error = ENOSPC },
	{ .text = "pressure.io some > 20%", .source = IOTR_TRIGGER_PRESSURE, .above = 2000, .pressure = IOTR_PRESSURE_IO },
	{ .text = "pressure.memory full avg60 > 99.99", .source = IOTR_TRIGGER_PRESSURE, .above = 9999,
	  .pressure = IOTR_PRESSURE_MEMORY, .full = true, .average = 60 },
	{ .text = "unit nginx.service failed", .source = IOTR_TRIGGER_UNIT, .unit = "nginx.service", .state = "failed" },
	{ .text = "lost > 100/s for 2s", .source = IOTR_TRIGGER_LOST, .above = 100, .for_ns = 2 * S },
};

START_TEST(reads)
{
	const struct iotr_trigger *want = &good[_i];
	struct engine_error error = { 0 };
	struct iotr_trigger got;

	ck_assert_msg(trigger_parse(want->text, &got, &error) >= 0, "%s: %s", want->text, error.message);
	ck_assert_str_eq(got.text, want->text);
	ck_assert_int_eq(got.source, want->source);
	ck_assert_uint_eq(got.above, want->above);
	ck_assert_uint_eq(got.for_ns, want->for_ns);
	ck_assert_uint_eq(got.stream, want->stream);
	ck_assert_uint_eq(got.operation, want->operation);
	ck_assert_int_eq(got.measure, want->measure);
	ck_assert_uint_eq(got.permille, want->permille);
	ck_assert_int_eq(got.error, want->error);
	ck_assert_int_eq(got.pressure, want->pressure);
	ck_assert_int_eq(got.full, want->full);
	ck_assert_uint_eq(got.average, want->average);
	ck_assert_str_eq(got.unit, want->unit);
	ck_assert_str_eq(got.state, want->state);
}
END_TEST

/* Each names the word that is wrong, and what would be right. */
static const struct {
	const char *text, *word, *right;
} bad[] = {
	{ "", "missing at the end", "vfs.FSYNC p99" },
	{ "   ", "missing at the end", "vfs.FSYNC p99" },
	{ "fsync p99 > 1ms", "'fsync'", "STREAM.OPERATION" },
	{ "net.SEND p99 > 1ms", "'net.SEND'", "vfs and block" },
	{ ".FSYNC p99 > 1ms", "'.FSYNC'", "vfs and block" },
	{ "vfs.FSINK p99 > 1ms", "'vfs.FSINK'", "iotracectl streams vfs" },
	{ "vfs.FSYNC", "missing at the end", "p99" },
	{ "vfs.FSYNC p100 > 1ms", "'p100'", "p99" },
	{ "vfs.FSYNC p0 > 1ms", "'p0'", "p99" },
	{ "vfs.FSYNC p99.99 > 1ms", "'p99.99'", "p99.9" },
	{ "vfs.FSYNC p-1 > 1ms", "'p-1'", "p99" },
	{ "vfs.FSYNC ENOSUCH > 1/s", "'ENOSUCH'", "ENOSPC" },
	{ "vfs.FSYNC p99 < 1ms", "'<'", "'>'" },
	{ "vfs.FSYNC p99 1ms", "'1ms'", "'>'" },
	{ "vfs.FSYNC p99 >> 1ms", "'>'", "50ms" },
	{ "vfs.FSYNC p99 > 50", "'50'", "50ms" },
	{ "vfs.FSYNC p99 >", "missing at the end", "50ms" },
	{ "vfs.FSYNC p99 > 301s", "'301s'", "5m" },
	{ "vfs.FSYNC rate > 1ms", "'1ms'", "10/s" },
	{ "vfs.FSYNC rate > /s", "'/s'", "10/s" },
	{ "vfs.FSYNC rate > -1/s", "'-1/s'", "10/s" },
	{ "vfs.FSYNC rate > 1000000001/s", "'1000000001/s'", "1000000000" },
	{ "vfs.FSYNC p99 > 1ms for", "missing at the end", "10s" },
	{ "vfs.FSYNC p99 > 1ms for 3601s", "'3601s'", "1h" },
	{ "vfs.FSYNC p99 > 1ms since 10s", "'since'", "'for'" },
	{ "vfs.FSYNC p99 > 1ms for 10s now", "'now'", "should have ended" },
	{ "vfs.FSYNC p99 > 1ms for 10s or vfs.OPEN", "'or'", "should have ended" },
	{ "pressure.disk some > 20", "'pressure.disk'", "pressure.io" },
	{ "pressure.io all > 20", "'all'", "some or full" },
	{ "pressure.io some avg30 > 20", "'avg30'", "'>'" },
	{ "pressure.io some > 100%", "'100%'", "below 100%" },
	{ "pressure.io some > nan", "'nan'", "below 100%" },
	{ "pressure.io some > 20s", "'20s'", "below 100%" },
	{ "unit", "missing at the end", "nginx.service" },
	{ "unit nginx failed", "'nginx'", "nginx.service" },
	{ "unit ../a.service failed", "'../a.service'", "nginx.service" },
	{ "unit nginx.service broken", "'broken'", "failed" },
	{ "unit nginx.service", "missing at the end", "failed" },
	{ "lost 5", "'5'", "'>'" },
	{ "lost > many", "'many'", "10/s" },
};

START_TEST(refuses)
{
	struct engine_error error = { 0 };
	struct iotr_trigger got;

	ck_assert_int_eq(trigger_parse(bad[_i].text, &got, &error), -EINVAL);
	ck_assert_msg(strstr(error.message, bad[_i].word) && strstr(error.message, bad[_i].right), "%s: %s", bad[_i].text,
		      error.message);
}
END_TEST

static int parse_long(size_t length, char filler, struct engine_error *error)
{
	char text[4096] = "vfs.FSYNC p99 > 50ms";
	struct iotr_trigger got;

	memset(text + strlen(text), filler, length - strlen(text));
	text[length] = '\0';
	return trigger_parse(text, &got, error);
}

START_TEST(bounds_length)
{
	struct engine_error error = { 0 };

	ck_assert_int_eq(parse_long(IOTR_TRIGGER_TEXT_MAX, ' ', &error), 0);
	ck_assert_int_eq(parse_long(IOTR_TRIGGER_TEXT_MAX + 1, ' ', &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.message, "at most 160 characters"));
	ck_assert_int_eq(parse_long(IOTR_TRIGGER_TEXT_MAX, '>', &error), -EINVAL);
	ck_assert_int_eq(parse_long(4000, '>', &error), -EINVAL);
}
END_TEST

START_TEST(bounds_units)
{
	char text[IOTR_TRIGGER_TEXT_MAX + 1], name[IOTR_TRIGGER_UNIT_MAX + 2];
	struct engine_error error = { 0 };
	struct iotr_trigger got;

	memset(name, 'a', sizeof(name));
	memcpy(name + IOTR_TRIGGER_UNIT_MAX - 8, ".service", 9);
	snprintf(text, sizeof(text), "unit %s failed", name);
	ck_assert_int_eq(trigger_parse(text, &got, &error), 0);
	ck_assert_str_eq(got.unit, name);
	memcpy(name + IOTR_TRIGGER_UNIT_MAX - 7, ".service", 9);
	snprintf(text, sizeof(text), "unit %s failed", name);
	ck_assert_int_eq(trigger_parse(text, &got, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.message, "128"));
}
END_TEST

static const struct {
	int of; /* of `good` */
	uint64_t value;
	const char *text;
} values[] = {
	{ 0, 61 * MS, "61ms" }, { 4, 1200, "1200/s" }, { 7, 2350, "23.50%" }, { 9, 1, "failed" }, { 10, 7, "7/s" },
};

START_TEST(formats)
{
	char text[48];

	ck_assert_str_eq(trigger_format(&good[values[_i].of], values[_i].value, text, sizeof(text)), values[_i].text);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, reads, 0, LENGTH(good));
	tcase_add_loop_test(tests, refuses, 0, LENGTH(bad));
	tcase_add_test(tests, bounds_length);
	tcase_add_test(tests, bounds_units);
	tcase_add_loop_test(tests, formats, 0, LENGTH(values));
}

int main(void)
{
	return run_suite("trigger_text", add);
}
