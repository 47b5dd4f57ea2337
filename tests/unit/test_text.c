// SPDX-License-Identifier: GPL-2.0-or-later
#include "text.h"

#include <string.h>

#include "suite.h"

static const struct {
	int64_t second;
	uint32_t nanosecond;
	const char *text;
} times[] = {
	{ 0, 0, "1970-01-01 00:00:00.000000000" },
	{ 1, 5, "1970-01-01 00:00:01.000000005" },
	{ -1, 999999999, "1969-12-31 23:59:59.999999999" },
	{ 1709210096, 123456789, "2024-02-29 12:34:56.123456789" },
	{ 4102444800, 100000000, "2100-01-01 00:00:00.100000000" },
};

START_TEST(writes_times)
{
	char out[TEXT_TIME_SIZE + DIGITS_SLACK];
	struct text_clock clock = { 0 };

	for (int twice = 0; twice < 2; twice++) {
		char *end = text_time(&clock, out, times[_i].second, times[_i].nanosecond);

		ck_assert_int_eq(end - out, TEXT_TIME_SIZE);
		ck_assert_mem_eq(out, times[_i].text, TEXT_TIME_SIZE);
	}
}
END_TEST

static const struct {
	const char *text, *cell;
} cells[] = {
	{ "", "" },
	{ "plain", "plain" },
	{ "a,b", "a\\x2cb" },
	{ "\"", "\\x22" },
	{ "say \"a\", \"b\"", "say \\x22a\\x22\\x2c \\x22b\\x22" },
	{ "line\nbreak\\", "line\\x0abreak\\x5c" },
	{ "\xff,", "\\xff\\x2c" },
};

START_TEST(writes_cells)
{
	char out[128];
	size_t length = strlen(cells[_i].text);
	char *end = text_cell(out, cells[_i].text, length);

	ck_assert_uint_le((size_t)(end - out), TEXT_CELL_MAX(length));
	ck_assert_uint_eq((size_t)(end - out), strlen(cells[_i].cell));
	ck_assert_mem_eq(out, cells[_i].cell, (size_t)(end - out));
}
END_TEST

START_TEST(writes_devices)
{
	char out[64];

	*text_device(out, 254, 1048575) = '\0';
	ck_assert_str_eq(out, "254:1048575");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, writes_times, 0, (int)(sizeof(times) / sizeof(times[0])));
	tcase_add_loop_test(tests, writes_cells, 0, (int)(sizeof(cells) / sizeof(cells[0])));
	tcase_add_test(tests, writes_devices);
}

int main(void)
{
	return run_suite("text", add);
}
