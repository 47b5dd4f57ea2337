// SPDX-License-Identifier: GPL-2.0-or-later
#include "units.h"

#include <errno.h>
#include <string.h>

#include "suite.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

struct parsed {
	const char *text;
	uint64_t value;
	int r;
};

static const struct parsed durations[] = {
	{ "30s", 30000000000, 0 },
	{ "5m", 300000000000, 0 },
	{ "1h", 3600000000000, 0 },
	{ "2d", 172800000000000, 0 },
	{ "5ms", 5000000, 0 },
	{ "250us", 250000, 0 },
	{ "10ns", 10, 0 },
	{ "1.5s", 1500000000, 0 },
	{ "0.000000001s", 1, 0 },
	{ "1h30m", 5400000000000, 0 },
	{ "213503d", 18446659200000000000u, 0 },
	{ "213504d", 0, -ERANGE },
	{ "99999999999999999999s", 0, -ERANGE },
	{ "0s", 0, -ERANGE },
	{ "0.1ns", 0, -ERANGE },
	{ "", 0, -EINVAL },
	{ "5", 0, -EINVAL },
	{ "s", 0, -EINVAL },
	{ "-5s", 0, -EINVAL },
	{ "+5s", 0, -EINVAL },
	{ " 5s", 0, -EINVAL },
	{ "5s ", 0, -EINVAL },
	{ "5 s", 0, -EINVAL },
	{ "5x", 0, -EINVAL },
	{ "5S", 0, -EINVAL },
	{ "1.s", 0, -EINVAL },
	{ ".5s", 0, -EINVAL },
	{ "1.2.3s", 0, -EINVAL },
	{ "1e3s", 0, -EINVAL },
	{ "0x10s", 0, -EINVAL },
	{ "1h30", 0, -EINVAL },
};

static const struct parsed sizes[] = {
	{ "4096", 4096, 0 },
	{ "64K", 65536, 0 },
	{ "64k", 65536, 0 },
	{ "64KiB", 65536, 0 },
	{ "64KB", 65536, 0 },
	{ "128M", 134217728, 0 },
	{ "2G", 2147483648, 0 },
	{ "1.5M", 1572864, 0 },
	{ "1T", 1099511627776, 0 },
	{ "7B", 7, 0 },
	{ "15E", 15ull << 60, 0 },
	{ "16E", 0, -ERANGE },
	{ "18446744073709551615", UINT64_MAX, 0 },
	{ "18446744073709551616", 0, -ERANGE },
	{ "0", 0, -ERANGE },
	{ "0.1", 0, -ERANGE },
	{ "", 0, -EINVAL },
	{ "K", 0, -EINVAL },
	{ "-1K", 0, -EINVAL },
	{ "1X", 0, -EINVAL },
	{ "1KK", 0, -EINVAL },
	{ "1KiBs", 0, -EINVAL },
	{ "1 K", 0, -EINVAL },
	{ "1BB", 0, -EINVAL },
	{ "1..5M", 0, -EINVAL },
};

static void check_parsed(const struct parsed *row, int (*parse)(const char *, uint64_t *))
{
	uint64_t value = 0;
	int r = parse(row->text, &value);

	ck_assert_msg(r == row->r && value == row->value, "'%s' is %d, %llu", row->text, r,
		      (unsigned long long)value);
}

START_TEST(parses_durations)
{
	check_parsed(&durations[_i], iotr_parse_duration);
}
END_TEST

START_TEST(parses_sizes)
{
	check_parsed(&sizes[_i], iotr_parse_size);
}
END_TEST

START_TEST(parses_numbers)
{
	uint64_t number = 7;

	ck_assert_int_eq(iotr_parse_number("100", 100, &number), 0);
	ck_assert_uint_eq(number, 100);
	ck_assert_int_eq(iotr_parse_number("101", 100, &number), -ERANGE);
	ck_assert_int_eq(iotr_parse_number("", 100, &number), -EINVAL);
	ck_assert_int_eq(iotr_parse_number("-1", 100, &number), -EINVAL);
	ck_assert_int_eq(iotr_parse_number("1x", 100, &number), -EINVAL);
	ck_assert_uint_eq(number, 100); /* only written on success */
}
END_TEST

START_TEST(parses_shares)
{
	struct iotr_share share;

	ck_assert_int_eq(iotr_parse_share("10%", &share), 0);
	ck_assert_uint_eq(iotr_share_of(&share, 12345), 1234);
	ck_assert_uint_eq(iotr_share_of(&share, UINT64_MAX), UINT64_MAX / 10);
	ck_assert_int_eq(iotr_parse_share("1K", &share), 0);
	ck_assert_uint_eq(iotr_share_of(&share, 10), 1024);
	ck_assert_int_eq(iotr_parse_share("infinity", &share), 0);
	ck_assert_uint_eq(iotr_share_of(&share, 10), 0);
	ck_assert_int_eq(iotr_parse_share("0%", &share), -ERANGE);
	ck_assert_int_eq(iotr_parse_share("101%", &share), -ERANGE);
	ck_assert_int_eq(iotr_parse_share("5%%", &share), -EINVAL);
	ck_assert_int_eq(iotr_parse_share("%", &share), -EINVAL);
	ck_assert_int_eq(iotr_parse_share("1.5%", &share), -EINVAL);
	ck_assert_int_eq(iotr_parse_share("", &share), -EINVAL);
}
END_TEST

static const struct {
	uint64_t value;
	const char *text;
} shown_durations[] = {
	{ 0, "0s" },
	{ 999, "999ns" },
	{ 250000, "250us" },
	{ 3200000, "3.2ms" },
	{ 3200000000, "3.2s" },
	{ 60000000000, "1m" },
	{ 312000000000, "5m 12s" },
	{ 5400000000000, "1h 30m" },
	{ 90000000000000, "1d 1h" },
}, shown_sizes[] = {
	{ 0, "0 B" },
	{ 17, "17 B" },
	{ 1024, "1 KiB" },
	{ 1536, "1.5 KiB" },
	{ 1610612736, "1.5 GiB" },
	{ UINT64_MAX, "16.0 EiB" },
};

START_TEST(shows_durations)
{
	char text[32];

	ck_assert_str_eq(iotr_format_duration(text, sizeof(text), shown_durations[_i].value),
			 shown_durations[_i].text);
}
END_TEST

START_TEST(shows_sizes)
{
	char text[32];

	ck_assert_str_eq(iotr_format_size(text, sizeof(text), shown_sizes[_i].value),
			 shown_sizes[_i].text);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, parses_durations, 0, LENGTH(durations));
	tcase_add_loop_test(tests, parses_sizes, 0, LENGTH(sizes));
	tcase_add_test(tests, parses_numbers);
	tcase_add_test(tests, parses_shares);
	tcase_add_loop_test(tests, shows_durations, 0, LENGTH(shown_durations));
	tcase_add_loop_test(tests, shows_sizes, 0, LENGTH(shown_sizes));
}

int main(void)
{
	return run_suite("units", add);
}
