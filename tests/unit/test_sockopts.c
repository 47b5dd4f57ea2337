// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells/sockopts.h"

#include <linux/in.h>
#include <linux/tcp.h>
#include <asm/socket.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define NAMED(level, option) { level, option, #option }

/* Names from the headers: the first and last options and some between; the newest ones by number. */
static const struct {
	int32_t level, option;
	const char *name;
} named[] = {
	NAMED(SOL_SOCKET, SO_DEBUG), NAMED(SOL_SOCKET, SO_REUSEADDR), NAMED(SOL_SOCKET, SO_LINGER),
	NAMED(SOL_SOCKET, SO_RCVTIMEO_OLD), NAMED(SOL_SOCKET, SO_SNDTIMEO_NEW),
	NAMED(SOL_SOCKET, SO_ATTACH_FILTER), NAMED(SOL_SOCKET, SO_COOKIE),
	NAMED(SOL_SOCKET, SO_RCVMARK), { 1, 84, "SO_INQ" }, { 1, 85, NULL }, { 1, 0, NULL },
	{ 1, 54, NULL }, { 1, -1, NULL }, { 1, INT32_MAX, NULL }, { 1, INT32_MIN, NULL },
	NAMED(IPPROTO_TCP, TCP_NODELAY), NAMED(IPPROTO_TCP, TCP_CONGESTION),
	NAMED(IPPROTO_TCP, TCP_TX_DELAY), { 6, 46, "TCP_DELACK_MAX_US" }, { 6, 15, NULL },
	{ 6, 47, NULL }, NAMED(IPPROTO_IP, IP_TOS), { 41, 26, "IPV6_V6ONLY" },
	{ 17, 103, "UDP_SEGMENT" }, { 2, 1, NULL }, { -1, 1, NULL },
};

START_TEST(names_options)
{
	const char *name = sockopts_name(named[_i].level, named[_i].option);

	if (named[_i].name)
		ck_assert_str_eq(name, named[_i].name);
	else
		ck_assert_ptr_null(name);
}
END_TEST

START_TEST(names_levels)
{
	ck_assert_str_eq(sockopts_level(1), "SOL_SOCKET");
	ck_assert_str_eq(sockopts_level(0), "IPPROTO_IP");
	ck_assert_str_eq(sockopts_level(6), "IPPROTO_TCP");
	ck_assert_str_eq(sockopts_level(17), "IPPROTO_UDP");
	ck_assert_str_eq(sockopts_level(41), "IPPROTO_IPV6");
	ck_assert_ptr_null(sockopts_level(2));
	ck_assert_ptr_null(sockopts_level(-1));
}
END_TEST

static const struct {
	int32_t level, option;
	uint8_t size, compat;
	const char *value, *text;
} values[] = {
	{ 1, 2, 4, 0, "\1\0\0\0", "#1" },
	{ 1, 42, 4, 0, "\xff\xff\xff\xff", "#-1" },
	{ 1, 36, 4, 0, "\xff\xff\xff\xff", "#4294967295" },
	{ 1, 2, 1, 0, "\xff", "#255" },
	{ 1, 2, 3, 0, "\1\1\0", "#257" },
	{ 1, 2, 8, 0, "\1\0\0\0\1\0\0\0", "#1" },
	{ 1, 57, 8, 0, "\0\0\0\0\1\0\0\0", "#4294967296" },
	{ 1, 57, 7, 0, "\2\0\0\0\1\0\0", "#2" },
	{ 1, 37, 8, 0, "\1\0\0\0\2\0\0\0", "#0x0100000002000000" },
	{ 1, 20, 16, 0, "\1\0\0\0\0\0\0\0\x20\xa1\7\0\0\0\0\0", "#1.500000" },
	{ 1, 20, 8, 1, "\1\0\0\0\2\0\0\0", "#1.000002" },
	{ 1, 66, 16, 1, "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", "#1.000002" },
	{ 1, 20, 8, 0, "\1\0\0\0\2\0\0\0", "#0x0100000002000000" },
	{ 1, 20, 8, 1, "\1\0\0\0\xff\xff\xff\xff", "#0x01000000ffffffff" },
	{ 1, 13, 8, 0, "\1\0\0\0\5\0\0\0", "#1:5" },
	{ 1, 13, 4, 0, "\1\0\0\0", "#0x01000000" },
	{ 6, 13, 6, 0, "cubic\0", "cubic" },
	{ 6, 13, 2, 0, "\n\xff", "\\x0a\\xff" },
	{ 1, 25, 1, 0, "\0", "" },
	{ 6, 11, 2, 0, "\1\xab", "#0x01ab" },
	{ 77, 1, 4, 0, "\xfe\xff\xff\xff", "#-2" },
	{ 77, 1, 1, 0, "\xfe", "#254" },
	{ 77, 1, 2, 0, "\xfe\1", "#0xfe01" },
	{ 77, 1, 0, 0, "", "" },
};

START_TEST(shows_values)
{
	struct iotr_sockopt_record record = {
		.level = values[_i].level, .option = values[_i].option, .size = values[_i].size,
		.length = values[_i].size, .compat = values[_i].compat,
	};
	char text[SOCKOPTS_TEXT_MAX], copy[SOCKOPTS_TEXT_MAX + 1];
	size_t length;

	memcpy(record.value, values[_i].value, values[_i].size);
	length = sockopts_value(&record, text);
	snprintf(copy, sizeof(copy), "%.*s", (int)length, text);
	ck_assert_str_eq(copy, values[_i].text);
}
END_TEST

/* The text of any record fits into the buffer. */
START_TEST(fits_every_option)
{
	struct iotr_sockopt_record record = { .length = UINT32_MAX, .size = UINT8_MAX };
	static const int32_t levels[] = { 0, 1, 6, 17, 41, 99 };
	char text[SOCKOPTS_TEXT_MAX];

	memset(record.value, _i ? 0xff : ',', sizeof(record.value));
	for (int level = 0; level < LENGTH(levels); level++)
		for (int32_t option = 0; option < 128; option++) {
			record.level = levels[level];
			record.option = option;
			ck_assert_uint_le(sockopts_value(&record, text), sizeof(text));
		}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, names_options, 0, LENGTH(named));
	tcase_add_test(tests, names_levels);
	tcase_add_loop_test(tests, shows_values, 0, LENGTH(values));
	tcase_add_loop_test(tests, fits_every_option, 0, 2);
}

int main(void)
{
	return run_suite("sockopts", add);
}
