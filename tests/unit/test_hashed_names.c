// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of snapshots against the hashes that the anonymizer makes of the texts of rows. */
#include "hashed_names.h"

#include <string.h>

#include "suite.h"

static const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE] = "a key of thirty-two bytes, at mo";
static struct hashed_names *names;
static struct iotr_anonymizer *hashes;

static void begin(void)
{
	ck_assert_int_eq(hashed_names_new(key, &names), 0);
	ck_assert_int_eq(iotr_anonymizer_new(key, &hashes), 0);
}

static void end(void)
{
	iotr_anonymizer_free(hashes);
	hashed_names_free(names);
}

static const struct {
	enum job_name kind;
	const char *raw, *escaped;
	enum iotr_privacy privacy;
} cases[] = {
	{ JOB_NAME_PATH, "/home/alice/a.txt", "/home/alice/a.txt", IOTR_PRIVACY_PATH },
	{ JOB_NAME_PATH, "/home/\xff\n/a\\b", "/home/\\xff\\x0a/a\\x5cb", IOTR_PRIVACY_PATH },
	{ JOB_NAME_PATH, "/", "/", IOTR_PRIVACY_PATH },
	{ JOB_NAME_COMMAND, "run, \"it\".sh", "run\\x2c \\x22it\\x22.sh", IOTR_PRIVACY_NAME },
	{ JOB_NAME_COMMAND, "99", "\\x399", IOTR_PRIVACY_NAME },
	{ JOB_NAME_COMMAND, "kworker/0:1", "kworker/0:1", IOTR_PRIVACY_NAME },
	{ JOB_NAME_COMMAND_LINE, "cat /home/alice/a.txt", "cat /home/alice/a.txt", IOTR_PRIVACY_TEXT },
	{ JOB_NAME_CGROUP, "/system.slice/alice.service", "/system.slice/alice.service", IOTR_PRIVACY_PATH },
	{ JOB_NAME_HOST, "alice.example", "alice.example", IOTR_PRIVACY_TEXT },
	{ JOB_NAME_LINK, "enx001122334455", "enx001122334455", IOTR_PRIVACY_NAME },
};

START_TEST(are_those_of_rows)
{
	char expected[1024];
	size_t length, most = iotr_anonymize(hashes, cases[_i].privacy, cases[_i].escaped,
					     strlen(cases[_i].escaped), expected);
	const char *text = hashed_name(cases[_i].kind, cases[_i].raw, strlen(cases[_i].raw), &length, names);

	ck_assert_uint_eq(length, most);
	ck_assert_mem_eq(text, expected, length);
}
END_TEST

START_TEST(leaves_nothing_to_be_nothing)
{
	size_t length = 7;

	hashed_name(JOB_NAME_COMMAND_LINE, "", 0, &length, names);
	ck_assert_uint_eq(length, 0);
}
END_TEST

/* Longer than any path of the kernel, and deeper. */
START_TEST(takes_long_names)
{
	static const enum job_name kinds[] = { JOB_NAME_PATH, JOB_NAME_COMMAND_LINE };
	enum { LENGTH = 1 << 20 };
	char *text = malloc(LENGTH);
	size_t length;

	for (size_t i = 0; i < LENGTH; i++)
		text[i] = i % 2 ? '\xff' : '/';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		hashed_name(kinds[i], text, LENGTH, &length, names);
		ck_assert_uint_ge(length, IOTR_ANONYMIZED_HASH);
		ck_assert_uint_le(length, IOTR_ANONYMIZED_PATH);
	}
	free(text);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_loop_test(tests, are_those_of_rows, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tests, leaves_nothing_to_be_nothing);
	tcase_add_test(tests, takes_long_names);
}

int main(void)
{
	return run_suite("hashed_names", add);
}
