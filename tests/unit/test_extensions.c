// SPDX-License-Identifier: GPL-2.0-or-later
#include "extensions.h"

#include <ctype.h>
#include <string.h>

#include "suite.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const struct {
	const char *name;
	const char *extension;
} cases[] = {
	{ "", "" },		     { ".", "" },	       { "..", "" },
	{ "file", "" },		     { "a.txt", "txt" },       { "A.TXT", "txt" },
	{ "a.tar.gz", "tar.gz" },    { "a.Tar.GZ", "tar.gz" }, { "a.john.gz", "gz" },
	{ "x.log.1", "log" },	     { "x.log.2.gz", "gz" },   { "libc.so.6", "so" },
	{ "libz.so.1.2.13", "so" },  { "2024.11.21", "" },     { "1.2", "" },
	{ ".bashrc", "" },	     { ".txt", "" },	       { ".a.txt", "txt" },
	{ "..txt", "txt" },	     { ".tar.gz", "gz" },      { "a.b.tar.gz", "tar.gz" },
	{ "john.smith", "" },	     { "a.txt.", "" },	       { "a.txt~", "" },
	{ "a.txt\\x00", "" },	     { "a.t xt", "" },	       { "a.johnsmithjohnsmith", "" },
	{ "nginx.service", "service" }, { "a..gz", "gz" },     { "data.db-wal", "" },
	{ "a.\xc3\xa9", "" },	     { "a.so.6.john", "" },    { "a.7z", "7z" },
};

START_TEST(finds_the_extension)
{
	ck_assert_str_eq(extension_of(cases[_i].name, strlen(cases[_i].name)), cases[_i].extension);
}
END_TEST

/* The name is followed by other text, which must not be read. */
START_TEST(stays_within_its_length)
{
	ck_assert_str_eq(extension_of("a.txt.gz", 5), "txt");
	ck_assert_str_eq(extension_of("a.txt", 2), "");
}
END_TEST

START_TEST(knows_an_ordered_list)
{
	const char *const *known;
	size_t count = extensions_known(&known);

	for (size_t i = 0; i < count; i++) {
		char name[64] = "a.";

		ck_assert_uint_le(strlen(known[i]), EXTENSION_MAX);
		for (const char *at = known[i]; *at; at++)
			ck_assert(islower(*at) || isdigit(*at) || *at == '.');
		if (i)
			ck_assert_msg(strcmp(known[i - 1], known[i]) < 0, "%s", known[i]);
		strcat(name, known[i]);
		ck_assert_str_eq(extension_of(name, strlen(name)), known[i]);
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, finds_the_extension, 0, LENGTH(cases));
	tcase_add_test(tests, stays_within_its_length);
	tcase_add_test(tests, knows_an_ordered_list);
}

int main(void)
{
	return run_suite("extensions", add);
}
