// SPDX-License-Identifier: GPL-2.0-or-later
#include "anonymize.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "schema.h"
#include "suite.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static struct iotr_anonymizer *anonymizer;

static void setup(void)
{
	uint8_t key[IOTR_ANONYMIZE_KEY_SIZE];

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)i;
	ck_assert_int_eq(iotr_anonymizer_new(key, &anonymizer), 0);
}

static void teardown(void)
{
	iotr_anonymizer_free(anonymizer);
	iotr_anonymizer_free(NULL);
}

/* Anonymises a text that ends with NUL; so does the result, which is valid until the next call. */
static const char *anonymized(enum iotr_privacy privacy, const char *text)
{
	static char out[1 << 20];
	size_t length = strlen(text), written;

	ck_assert_uint_lt(IOTR_ANONYMIZED_MAX(length), sizeof(out));
	written = iotr_anonymize(anonymizer, privacy, text, length, out);
	ck_assert_uint_le(written, IOTR_ANONYMIZED_MAX(length));
	out[written] = '\0';
	return out;
}

/* Made with Python: base64.b32encode(hmac.new(bytes(range(32)), text, 'sha256').digest()[:10]). */
static const struct {
	const char *text;
	const char *hash;
} vectors[] = {
	{ "passwd", "3qpp5rlxw7dvdhls" },
	{ "a", "kft52forqftktxlm" },
	{ "10.0.0.1", "wcm4vk7pog5lhhi2" },
	{ "caf\xc3\xa9", "bdu7nilawa4agpb4" },
};

START_TEST(hashes_as_others_do)
{
	ck_assert_str_eq(anonymized(IOTR_PRIVACY_TEXT, vectors[_i].text), vectors[_i].hash);
}
END_TEST

/* What the text becomes, where {x} stands for the hash of x. */
static const struct {
	enum iotr_privacy privacy;
	const char *text;
	const char *expected;
} cases[] = {
	{ IOTR_PRIVACY_PUBLIC, "READ", "READ" },
	{ IOTR_PRIVACY_TEXT, "", "" },
	{ IOTR_PRIVACY_TEXT, "cat /etc/passwd.txt", "{cat /etc/passwd.txt}" },
	{ IOTR_PRIVACY_NAME, "cat", "{cat}" },
	{ IOTR_PRIVACY_NAME, "run.sh", "{run.sh}.sh" },
	{ IOTR_PRIVACY_NAME, "kworker/0:1", "{kworker/0:1}" },
	{ IOTR_PRIVACY_NAME, "nginx.service", "{nginx.service}.service" },
	{ IOTR_PRIVACY_NAME, ".", "." },
	{ IOTR_PRIVACY_NAME, "..", ".." },
	{ IOTR_PRIVACY_NAME, "...", "{...}" },
	{ IOTR_PRIVACY_PATH, "/", "/" },
	{ IOTR_PRIVACY_PATH, "/etc/passwd", "/{etc}/{passwd}" },
	{ IOTR_PRIVACY_PATH, "/a/a/a.txt", "/{a}/{a}/{a.txt}.txt" },
	{ IOTR_PRIVACY_PATH, "../a/./b/", "../{a}/./{b}/" },
	{ IOTR_PRIVACY_PATH, "//a", "//{a}" },
	{ IOTR_PRIVACY_PATH, ".../a", ".../{a}" },
	{ IOTR_PRIVACY_PATH, "...", "..." },
	{ IOTR_PRIVACY_PATH, "/.../a", "/{...}/{a}" },
	{ IOTR_PRIVACY_PATH, "/a (deleted)", "/{a} (deleted)" },
	{ IOTR_PRIVACY_PATH, "/a (deleted)/b", "/{a (deleted)}/{b}" },
	{ IOTR_PRIVACY_PATH, "/a.log (deleted) -> /b", "/{a.log}.log (deleted) -> /{b}" },
	{ IOTR_PRIVACY_PATH, "/old -> /new", "/{old} -> /{new}" },
	{ IOTR_PRIVACY_PATH, " -> /new", " -> /{new}" },
	{ IOTR_PRIVACY_PATH, "/old -> ", "/{old} -> " },
	{ IOTR_PRIVACY_PATH, "/a -> b -> ...", "/{a} -> {b} -> ..." },
	{ IOTR_PRIVACY_PATH, "/a -> .../b", "/{a} -> .../{b}" },
	{ IOTR_PRIVACY_PATH, "/a->b", "/{a->b}" },
	{ IOTR_PRIVACY_PATH, "/a, \"b\"", "/{a, \"b\"}" },
	{ IOTR_PRIVACY_PATH, "/a\\x0ab", "/{a\\x0ab}" },
	{ IOTR_PRIVACY_ADDRESS, "10.0.0.1", "{10.0.0.1}.ipv4" },
	{ IOTR_PRIVACY_ADDRESS, "127.1.2.3", "{127.1.2.3}.loopback" },
	{ IOTR_PRIVACY_ADDRESS, "0.0.0.0", "{0.0.0.0}.any" },
	{ IOTR_PRIVACY_ADDRESS, "fe80::1", "{fe80::1}.ipv6" },
	{ IOTR_PRIVACY_ADDRESS, "FE80:0::1", "{fe80::1}.ipv6" },
	{ IOTR_PRIVACY_ADDRESS, "::1", "{::1}.loopback" },
	{ IOTR_PRIVACY_ADDRESS, "::", "{::}.any" },
	{ IOTR_PRIVACY_ADDRESS, "1111:2222:3333:4444:5555:6666:7777:8888",
	  "{1111:2222:3333:4444:5555:6666:7777:8888}.ipv6" },
	{ IOTR_PRIVACY_ADDRESS, "10.0.0.256", "{10.0.0.256}" },
	{ IOTR_PRIVACY_ADDRESS, "/run/a.sock", "/{run}/{a.sock}.sock" },
	{ IOTR_PRIVACY_ADDRESS, "relative", "{relative}" },
	{ IOTR_PRIVACY_ADDRESS, "@", "@" },
	{ IOTR_PRIVACY_ADDRESS, "@/tmp/dbus\\x00a", "@/{tmp}/{dbus\\x00a}" },
	{ IOTR_PRIVACY_ADDRESS, "@10.0.0.1", "@{10.0.0.1}" },
	{ IOTR_PRIVACY_NAME, "\\x399", "{99}" }, /* as a component of a path has it */
	{ IOTR_PRIVACY_NAME, "\\xff9", "{\\xff9}" },
	{ IOTR_PRIVACY_NAME, "\\x3", "{\\x3}" },
	{ IOTR_PRIVACY_VALUE, "#4711", "#4711" },
	{ IOTR_PRIVACY_VALUE, "#-1", "#-1" },
	{ IOTR_PRIVACY_VALUE, "#1:30", "#1:30" },
	{ IOTR_PRIVACY_VALUE, "#5.250000", "#5.250000" },
	{ IOTR_PRIVACY_VALUE, "#", "{#}" },
	{ IOTR_PRIVACY_VALUE, "#0x7f000001", "{#0x7f000001}" },
	{ IOTR_PRIVACY_VALUE, "4711", "4711" },
	{ IOTR_PRIVACY_VALUE, "-1", "-1" },
	{ IOTR_PRIVACY_VALUE, "1:30", "1:30" },
	{ IOTR_PRIVACY_VALUE, "5.250000", "5.250000" },
	{ IOTR_PRIVACY_VALUE, "cubic", "cubic" },
	{ IOTR_PRIVACY_VALUE, "-", "{-}" },
	{ IOTR_PRIVACY_VALUE, "1:", "{1:}" },
	{ IOTR_PRIVACY_VALUE, "1.5", "{1.5}" },
	{ IOTR_PRIVACY_VALUE, "10.0.0.1", "{10.0.0.1}" },
	{ IOTR_PRIVACY_VALUE, "1.5000000", "{1.5000000}" },
	{ IOTR_PRIVACY_VALUE, "cubic2", "{cubic2}" },
	{ IOTR_PRIVACY_VALUE, "eth0", "{eth0}" },
	{ IOTR_PRIVACY_VALUE, "0x7f000001", "{0x7f000001}" },
};

static void expand(const char *text, char *out)
{
	while (*text) {
		char inner[256];
		size_t length = strcspn(text + 1, "}");

		if (*text != '{') {
			*out++ = *text++;
			continue;
		}
		snprintf(inner, sizeof(inner), "%.*s", (int)length, text + 1);
		out = stpcpy(out, anonymized(IOTR_PRIVACY_TEXT, inner));
		text += length + 2;
	}
	*out = '\0';
}

START_TEST(keeps_shape)
{
	char expected[1024];

	expand(cases[_i].expected, expected);
	ck_assert_str_eq(anonymized(cases[_i].privacy, cases[_i].text), expected);
	ck_assert_str_eq(anonymized(cases[_i].privacy, cases[_i].text), expected); /* from the cache */
}
END_TEST

/* Names with each possible byte: nothing of the name is in the result, which never needs quotes. */
START_TEST(takes_any_byte)
{
	const char raw[] = { 'Q', (char)_i, 'Q' };
	char escaped[ESCAPE_MAX(sizeof(raw)) + 1];
	const char *out;

	escaped[escape_cell(raw, sizeof(raw), escaped)] = '\0';
	for (int privacy = IOTR_PRIVACY_TEXT; privacy <= IOTR_PRIVACY_ADDRESS; privacy++) {
		out = anonymized((enum iotr_privacy)privacy, escaped);
		ck_assert_ptr_null(strchr(out, 'Q'));
		ck_assert_uint_eq(strspn(out, "abcdefghijklmnopqrstuvwxyz234567/"), strlen(out));
	}
}
END_TEST

/* More names than the cache holds, then the first ones again: the cache changes no result. */
START_TEST(keeps_no_wrong_hash)
{
	enum { NAMES = 20000 };
	static char first[NAMES][IOTR_ANONYMIZED_NAME + 1];
	char name[32];

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < NAMES; i++) {
			snprintf(name, sizeof(name), "name-%d.txt", i);
			if (!round)
				strcpy(first[i], anonymized(IOTR_PRIVACY_NAME, name));
			else
				ck_assert_str_eq(anonymized(IOTR_PRIVACY_NAME, name), first[i]);
		}
	for (int i = 1; i < NAMES; i++)
		ck_assert_str_ne(first[i], first[0]);
}
END_TEST

/* The same text as different kinds of names, one after the other. */
START_TEST(keeps_classes_apart)
{
	char name[64], address[64], text[64];

	for (int round = 0; round < 3; round++) {
		strcpy(name, anonymized(IOTR_PRIVACY_NAME, "::1.txt"));
		strcpy(text, anonymized(IOTR_PRIVACY_TEXT, "::1"));
		strcpy(address, anonymized(IOTR_PRIVACY_ADDRESS, "::1"));
		ck_assert_str_eq(name + IOTR_ANONYMIZED_HASH, ".txt");
		ck_assert_uint_eq(strlen(text), IOTR_ANONYMIZED_HASH);
		ck_assert_str_eq(address + IOTR_ANONYMIZED_HASH, ".loopback");
	}
}
END_TEST

START_TEST(depends_on_the_key)
{
	const uint8_t other[IOTR_ANONYMIZE_KEY_SIZE] = { 1 };
	struct iotr_anonymizer *second;
	char out[IOTR_ANONYMIZED_MAX(6)];

	ck_assert_int_eq(iotr_anonymizer_new(other, &second), 0);
	out[iotr_anonymize(second, IOTR_PRIVACY_TEXT, "passwd", 6, out)] = '\0';
	ck_assert_str_ne(out, vectors[0].hash);
	iotr_anonymizer_free(second);
}
END_TEST

/* Names around the longest that the cache holds, and around the longest of file systems. */
START_TEST(takes_long_names)
{
	char path[600] = "/";
	char first[64];

	memset(path + 1, 'x', (size_t)_i);
	strcpy(path + 1 + _i, ".gz");
	strcpy(first, anonymized(IOTR_PRIVACY_PATH, path));
	ck_assert_uint_eq(strlen(first), 1 + IOTR_ANONYMIZED_HASH + 3);
	path[_i] = 'y';
	ck_assert_str_ne(anonymized(IOTR_PRIVACY_PATH, path), first);
	path[_i] = 'x';
	ck_assert_str_eq(anonymized(IOTR_PRIVACY_PATH, path), first);
}
END_TEST

static void fill(char *text, size_t size, const char *pattern)
{
	size_t length = strlen(pattern);

	for (size_t i = 0; i < size; i++)
		text[i] = pattern[i % length];
	text[size] = '\0';
}

/* Paths that grow the most, below and at the limit of components. */
START_TEST(bounds_depth)
{
	static const char *const patterns[] = { "/a", "a -> " };
	static char path[65536];
	const char *pattern = patterns[_i];
	size_t unit = strlen(pattern);

	fill(path, unit * (IOTR_ANONYMIZE_COMPONENTS_MAX - 1), pattern);
	ck_assert_uint_gt(strlen(anonymized(IOTR_PRIVACY_PATH, path)),
			  (size_t)(IOTR_ANONYMIZE_COMPONENTS_MAX - 1) * IOTR_ANONYMIZED_HASH);
	fill(path, unit * IOTR_ANONYMIZE_COMPONENTS_MAX, pattern);
	ck_assert_uint_eq(strlen(anonymized(IOTR_PRIVACY_PATH, path)), 4 + IOTR_ANONYMIZED_HASH);
	ck_assert_mem_eq(anonymized(IOTR_PRIVACY_PATH, path), ".../", 4);
}
END_TEST

/*
 * Columns that are left in the clear: a text column that is new fails here until somebody has thought
 * about whether a name can stand in it.
 */
static const char *const words[] = {
	"operation", "fs_type", "disk",	     "attribution", "epoll_op", "level",	"option_name",
	"protocol",  "domain",	"tcp_state", "socket_type", "severity", "shutdown_how", "fault_type", "ready_fds",
};

static bool is_word(const char *name)
{
	for (int i = 0; i < LENGTH(words); i++)
		if (!strcmp(words[i], name))
			return true;
	return false;
}

START_TEST(knows_every_column)
{
	const struct iotr_schema *schema = &iotr_schemas[_i];

	for (size_t i = 0; i < schema->column_count; i++) {
		const struct iotr_column *column = &schema->columns[i];

		ck_assert_ptr_nonnull(iotr_type_name(column->type));
		ck_assert_int_lt(iotr_type_privacy(column->type), IOTR_PRIVACY_COUNT);
		ck_assert_msg(column->type != IOTR_TYPE_WORD || is_word(column->name),
			      "%s.%s: can somebody's name stand in it?", schema->flag, column->name);
		if (strstr(column->name, "name") && strcmp(column->name, "option_name"))
			ck_assert_int_ne(iotr_type_privacy(column->type), IOTR_PRIVACY_PUBLIC);
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_loop_test(tests, hashes_as_others_do, 0, LENGTH(vectors));
	tcase_add_loop_test(tests, keeps_shape, 0, LENGTH(cases));
	tcase_add_loop_test(tests, takes_any_byte, 0, 256);
	tcase_add_test(tests, keeps_no_wrong_hash);
	tcase_add_test(tests, keeps_classes_apart);
	tcase_add_test(tests, depends_on_the_key);
	tcase_add_loop_test(tests, takes_long_names, 55, 75);
	tcase_add_loop_test(tests, takes_long_names, 250, 254);
	tcase_add_loop_test(tests, bounds_depth, 0, 2);
	tcase_add_loop_test(tests, knows_every_column, 0, IOTR_STREAM_COUNT);
}

int main(void)
{
	return run_suite("anonymize", add);
}
