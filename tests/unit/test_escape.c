// SPDX-License-Identifier: GPL-2.0-or-later
#include "escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static void check(const char *text, size_t length, const char *expected)
{
	char out[256];
	size_t written = escape_text(text, length, out);

	ck_assert_uint_le(written, ESCAPE_MAX(length));
	ck_assert_uint_eq(written, strlen(expected));
	ck_assert_mem_eq(out, expected, written);
}

START_TEST(escapes_each_byte)
{
	char byte = (char)_i, expected[8];
	bool plain = _i >= 0x20 && _i < 0x7f && _i != '\\';

	snprintf(expected, sizeof(expected), plain ? "%c" : "\\x%02x", _i);
	check(&byte, 1, expected);
	ck_assert_uint_eq(escape_character(&byte, 1), _i >= 0x20 && _i < 0x7f);
}
END_TEST

START_TEST(characters_are_whole)
{
	ck_assert_uint_eq(escape_character("", 0), 0);
	ck_assert_uint_eq(escape_character("\xc3\xa9t", 3), 2);
	ck_assert_uint_eq(escape_character("\xc3\xa9", 1), 0);
	ck_assert_uint_eq(escape_character("\xf0\x90\x80\x80", 4), 4);
	ck_assert_uint_eq(escape_character("\xed\xa0\x80", 3), 0);
}
END_TEST

static const struct sequence {
	const char *text;
	const char *expected;
} sequences[] = {
	{ "", "" },
	{ "plain name.txt", "plain name.txt" },
	{ "\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9" },
	{ "\xc2\x80", "\xc2\x80" },			/* the lowest character of two bytes */
	{ "\xc0\xaf", "\\xc0\\xaf" },			/* overlong */
	{ "\xc1\xbf", "\\xc1\\xbf" },
	{ "\xe0\xa0\x80", "\xe0\xa0\x80" },		/* the lowest of three */
	{ "\xe0\x9f\xbf", "\\xe0\\x9f\\xbf" },		/* overlong */
	{ "\xed\x9f\xbf", "\xed\x9f\xbf" },		/* the last before the surrogates */
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },		/* a surrogate */
	{ "\xef\xbf\xbf", "\xef\xbf\xbf" },
	{ "\xf0\x90\x80\x80", "\xf0\x90\x80\x80" },	/* the lowest of four */
	{ "\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf" },	/* overlong */
	{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },	/* the last character of Unicode */
	{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
	{ "\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80" },
	{ "\xc3", "\\xc3" },				/* cut */
	{ "\xe2\x82", "\\xe2\\x82" },
	{ "\xf0\x9f\x98", "\\xf0\\x9f\\x98" },
	{ "\xc3(", "\\xc3(" },
	{ "\xe2\x82(", "\\xe2\\x82(" },
	{ "\x80", "\\x80" },
	{ "a\nb\tc\\d", "a\\x0ab\\x09c\\x5cd" },
	{ "a -> b ->", "a -\\x3e b -\\x3e" },		/* no arrow between two names */
	{ "a->b > c -->>", "a->b > c -->>" },
};

START_TEST(escapes_sequences)
{
	check(sequences[_i].text, strlen(sequences[_i].text), sequences[_i].expected);
}
END_TEST

/* The byte behind the text would continue its last character, but is not part of it. */
START_TEST(stays_within_its_length)
{
	check("\xc3\xa9", 1, "\\xc3");
	check("\xf0\x9f\x98\x80", 3, "\\xf0\\x9f\\x98");
}
END_TEST

START_TEST(undoes_each_byte)
{
	char byte = (char)_i, out[ESCAPE_MAX(1)];
	size_t length = escape_cell(&byte, 1, out);
	unsigned char undone;

	ck_assert_uint_eq(escape_undo(out, length, &undone), length);
	ck_assert_uint_eq(undone, (unsigned char)_i);
}
END_TEST

/* What is no escape stands for itself. */
START_TEST(undoes_nothing_else)
{
	static const char *const texts[] = { "\\", "\\x", "\\x4", "\\xg0", "\\x0G", "\\n41", "x41" };
	unsigned char undone;

	for (size_t i = 0; i < LENGTH(texts); i++) {
		ck_assert_uint_eq(escape_undo(texts[i], strlen(texts[i]), &undone), 1);
		ck_assert_int_eq(undone, texts[i][0]);
	}
	ck_assert_uint_eq(escape_undo("\\x41", 3, &undone), 1);
	ck_assert_uint_eq(escape_undo("\\x41b", 5, &undone), 4);
	ck_assert_int_eq(undone, 'A');
}
END_TEST

/* What CSV gives a meaning to is escaped in cells alone. */
START_TEST(cells_need_no_quotes)
{
	const char text[] = "a,\"b\" -> \n\\";
	char out[ESCAPE_MAX(sizeof(text))];
	size_t length = escape_cell(text, sizeof(text) - 1, out);

	ck_assert_uint_eq(length, strlen("a\\x2c\\x22b\\x22 -\\x3e \\x0a\\x5c"));
	ck_assert_mem_eq(out, "a\\x2c\\x22b\\x22 -\\x3e \\x0a\\x5c", length);
	check(text, sizeof(text) - 1, "a,\"b\" -\\x3e \\x0a\\x5c");
}
END_TEST

/* Nobody takes the mark between fields to be another one than the comma, or leaves away a space at the end of a name. */
START_TEST(cells_are_whole)
{
	static const char text[] = "a;b|c /d e /f ", expected[] = "a\\x3bb\\x7cc\\x20/d e\\x20/f\\x20";
	char out[ESCAPE_MAX(sizeof(text))];
	size_t length = escape_cell(text, sizeof(text) - 1, out);

	ck_assert_uint_eq(length, sizeof(expected) - 1);
	ck_assert_mem_eq(out, expected, length);
	check(text, sizeof(text) - 1, text);
}
END_TEST

/* tests/tools has other programs read these. */
static const struct sequence fields[] = {
	{ "", "" },
	{ "99", "\\x399" },
	{ "1e5", "\\x31e5" },
	{ "-5", "\\x2d5" },
	{ ".5", "\\x2e5" },
	{ ".", "\\x2e" },
	{ "0x10", "\\x30x10" },
	{ "0b11", "\\x30b11" },
	{ "0b6f9a", "0b6f9a" },
	{ "10:20", "\\x310:20" },
	{ "2024-01-01T10:00:00Z", "\\x32024-01-01T10:00:00Z" },
	{ "1.5.2024", "\\x31.5.2024" },
	{ "Jan 1 2024", "\\x4aan 1 2024" },
	{ "UTC 2024", "\\x55TC 2024" },
	{ "mariadb10", "mariadb10" },
	{ "mar", "mar" },
	{ "2to3", "2to3" },
	{ "TRUE", "\\x54RUE" },
	{ "f", "\\x66" },
	{ "nan", "\\x6ean" },
	{ "NaN(1)", "\\x4eaN(1)" },
	{ "nano", "nano" },
	{ "-inf", "\\x2dinf" },
	{ "infinity", "\\x69nfinity" },
	{ "NULL", "\\x4eULL" },
	{ "n/a", "\\x6e/a" },
	{ "#99", "\\x2399" },
	{ " a", "\\x20a" },
	{ "'a'", "\\x27a'" },
	{ "it's", "it's" },
	{ "(sd-pam)", "(sd-pam)" },
	{ "/1", "/1" },
	{ "...", "..." },
	{ ".../1", ".../1" },
	{ "kworker/0:1", "kworker/0:1" },
};

START_TEST(fields_are_texts)
{
	char out[ESCAPE_MAX(64)], *text = malloc(strlen(fields[_i].text)); /* so that reading beyond it is found out */
	size_t length = strlen(fields[_i].text), written;

	if (length)
		memcpy(text, fields[_i].text, length);
	written = escape_field(length ? text : "", length, out);
	free(text);
	ck_assert_uint_eq(written, strlen(fields[_i].expected));
	ck_assert_mem_eq(out, fields[_i].expected, written);
}
END_TEST

static const struct {
	const char *text, *expected;
} documents[] = {
	{ "{\"a\": \"\xc3\xa4 \\\\ \\u001b\x7f\"}\n", NULL },
	{ "\xf0\x9f\x98\x80\xef\xbf\xbf", NULL },
	{ "\xff", "\\\\xff" },
	{ "{\"a\": \"x\xc3\"}", "{\"a\": \"x\\\\xc3\"}" },
	{ "\xed\xa0\x80", "\\\\xed\\\\xa0\\\\x80" },
	{ "\xe2\x82", "\\\\xe2\\\\x82" },
};

/* A document that is UTF-8 stays as it is; what is not becomes an escape that any parser takes. */
START_TEST(documents_are_utf8)
{
	const char *expected = documents[_i].expected ?: documents[_i].text;
	size_t length = strlen(documents[_i].text), more;
	char out[64], *text = malloc(length);

	memcpy(text, documents[_i].text, length);
	more = escape_json_more(text, length);
	ck_assert_uint_eq(length + more, strlen(expected));
	escape_json(text, length, out);
	free(text);
	ck_assert_mem_eq(out, expected, length + more);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, escapes_each_byte, 0, 256);
	tcase_add_test(tests, characters_are_whole);
	tcase_add_loop_test(tests, undoes_each_byte, 0, 256);
	tcase_add_test(tests, undoes_nothing_else);
	tcase_add_loop_test(tests, escapes_sequences, 0, LENGTH(sequences));
	tcase_add_test(tests, stays_within_its_length);
	tcase_add_test(tests, cells_need_no_quotes);
	tcase_add_test(tests, cells_are_whole);
	tcase_add_loop_test(tests, fields_are_texts, 0, LENGTH(fields));
	tcase_add_loop_test(tests, documents_are_utf8, 0, LENGTH(documents));
}

int main(void)
{
	return run_suite("escape", add);
}
