// SPDX-License-Identifier: GPL-2.0-or-later
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "schema.h"
#include "segment_name.h"
#include "suite.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct segment_name parsed;

static bool is_segment(const char *file)
{
	return segment_name_parse("fs", file, &parsed);
}

static const unsigned int numbers[] = { 0, 1, 42, 999999, 1000000, 123456789, UINT_MAX };

/* Every name that is written is read as what it was written from. */
static void check_name(const char *folder, unsigned int number, enum iotr_format format, enum segment_ending ending)
{
	char name[SEGMENT_NAME_MAX], file[SEGMENT_FILE_MAX];

	segment_name_format(name, folder, number, format);
	snprintf(file, sizeof(file), "%s%s", name, segment_endings[ending]);
	ck_assert_msg(segment_name_parse(folder, file, &parsed), "%s", file);
	ck_assert_str_eq(parsed.name, name);
	ck_assert_uint_eq(parsed.number, number);
	ck_assert_int_eq(parsed.format, format);
	ck_assert_int_eq(parsed.ending, ending);
	ck_assert(!segment_name_parse("other", file, &parsed));
}

START_TEST(reads_what_it_writes)
{
	for (size_t i = 0; i < LENGTH(numbers); i++)
		for (enum iotr_format format = 0; format < IOTR_FORMAT_COUNT; format++)
			for (enum segment_ending ending = 0; ending < SEGMENT_ENDINGS; ending++)
				check_name(iotr_schemas[_i].folder, numbers[i], format, ending);
}
END_TEST

START_TEST(writes_names)
{
	char name[SEGMENT_NAME_MAX];

	segment_name_format(name, "fs", 1, IOTR_FORMAT_CSV);
	ck_assert_str_eq(name, "fs_000001.csv");
	segment_name_format(name, "nw_conn", 1234567, IOTR_FORMAT_JSONL);
	ck_assert_str_eq(name, "nw_conn_1234567.jsonl");
}
END_TEST

START_TEST(refuses_others)
{
	static const char *const others[] = {
		"", "f", "fs", "fs_", "fs_.csv", "fs_csv", ".gz", ".gz.part", "fs.csv", "_000001.csv", "fs_000001",
		"fs_00001.csv", "fs_0000001.csv", "fs_0123456.csv", "fs_4294967296.csv", "fs_4294967297.csv",
		"fs_18446744073709551617.csv", "fs_99999999999999999999999999.csv", "fs_-00001.csv", "fs_+00001.csv",
		"fs_ 00001.csv", "fs_\t00001.csv", "fs_00x001.csv", "fs_0x0001.csv", "fs_000001 .csv", "fs_000001.csv ",
		"fs_000001.CSV", "fs_000001.cs", "fs_000001.csvv", "fs_000001.csv.", "fs_000001.json", "fs_000001..csv",
		"fs_000001.csv.GZ", "fs_000001.csv.gz.gz", "fs_000001.csv.part.gz", "fs_000001.csv.part.part",
		"fs_000001.csv.tmp", "fs_000001.gz", "fs_000001.part", "Fs_000001.csv", "fs-000001.csv", "fs000001.csv",
		"fs__000001.csv", "fs_000001_000002.csv", "fs_000001.csv.jsonl", "fs/fs_000001.csv", "./fs_000001.csv",
		"../fs_000001.csv", "fs_000001.csv/", "ds_000001.csv", "fs_000001.csv\n", "\nfs_000001.csv",
		"fs_\xd9\xa1" "00001.csv",
	};
	char endless[5000];

	for (size_t i = 0; i < LENGTH(others); i++)
		ck_assert_msg(!is_segment(others[i]), "%s", others[i]);
	memset(endless, '0', sizeof(endless));
	memcpy(endless, "fs_", 3);
	strcpy(endless + sizeof(endless) - sizeof("1.csv"), "1.csv");
	ck_assert(!is_segment(endless));
	memset(endless, 'f', 200);
	ck_assert(!segment_name_parse(endless, endless, &parsed));
}
END_TEST

/* The name of a folder that leaves no room for the number is refused, instead of a name being cut. */
START_TEST(refuses_long_folders)
{
	char folder[SEGMENT_FILE_MAX + 8], file[2 * SEGMENT_FILE_MAX];

	for (size_t length = 1; length < sizeof(folder); length++) {
		memset(folder, 'x', length);
		folder[length] = '\0';
		for (size_t cut = 0; cut <= strlen("_000000.csv"); cut++) {
			snprintf(file, sizeof(file), "%s%.*s", folder, (int)cut, "_000000.csv");
			ck_assert_int_eq(segment_name_parse(folder, file, &parsed),
					 cut == strlen("_000000.csv") && length < SEGMENT_NAME_MAX - 17);
		}
	}
}
END_TEST

/* Pseudo-random numbers, the same on every machine. */
static unsigned int next_random(unsigned int below)
{
	static unsigned long long state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state % below);
}

/* Changes, inserts or removes one byte. */
static void spoil(char *file, size_t size)
{
	static const char bytes[] = "0123456789_.fscvjonlgzpart+- \t/\xff";
	size_t length = strlen(file), at = next_random((unsigned int)length + 1);
	char byte = bytes[next_random(sizeof(bytes) - 1)];

	switch (next_random(3)) {
	case 0:
		if (at < length)
			file[at] = byte;
		break;
	case 1:
		if (length + 1 < size) {
			memmove(file + at + 1, file + at, length - at + 1);
			file[at] = byte;
		}
		break;
	default:
		if (at < length)
			memmove(file + at, file + at + 1, length - at);
	}
}

/* Whatever is accepted is, byte by byte, the name that would be written for it. */
START_TEST(accepts_no_other_spelling)
{
	unsigned int accepted = 0, refused = 0;

	for (unsigned int i = 0; i < 200000; i++) {
		char file[SEGMENT_FILE_MAX + 16], again[sizeof(file)], name[SEGMENT_NAME_MAX];

		segment_name_format(name, "fs", numbers[next_random(LENGTH(numbers))], next_random(IOTR_FORMAT_COUNT));
		snprintf(file, sizeof(file), "%s%s", name, segment_endings[next_random(SEGMENT_ENDINGS)]);
		for (unsigned int changes = next_random(4); changes; changes--)
			spoil(file, sizeof(file));
		if (!is_segment(file)) {
			refused++;
			continue;
		}
		accepted++;
		segment_name_format(name, "fs", parsed.number, parsed.format);
		ck_assert_str_eq(parsed.name, name);
		snprintf(again, sizeof(again), "%s%s", name, segment_endings[parsed.ending]);
		ck_assert_str_eq(again, file);
	}
	ck_assert_uint_gt(accepted, 1000);
	ck_assert_uint_gt(refused, 1000);
}
END_TEST

START_TEST(strips_one_ending)
{
	static const struct {
		const char *file, *stripped;
		enum segment_ending ending;
	} cases[] = {
		{ "fs/fs_000001.csv", "fs/fs_000001.csv", SEGMENT_PLAIN },
		{ "fs/fs_000001.csv.gz", "fs/fs_000001.csv", SEGMENT_PACKED },
		{ "fs_000001.jsonl.part", "fs_000001.jsonl", SEGMENT_PART },
		{ "fs_000001.csv.gz.part", "fs_000001.csv", SEGMENT_PACKED_PART },
		{ "a.part.gz", "a.part", SEGMENT_PACKED },
		{ "a.gz.gz", "a.gz", SEGMENT_PACKED },
		{ "", "", SEGMENT_PLAIN },
		{ ".gz", ".gz", SEGMENT_PLAIN },
		{ ".gz.part", ".gz", SEGMENT_PART },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		char name[64];

		strcpy(name, cases[i].file);
		ck_assert_int_eq(segment_name_strip(name), cases[i].ending);
		ck_assert_str_eq(name, cases[i].stripped);
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, reads_what_it_writes, 0, IOTR_STREAM_COUNT);
	tcase_add_test(tests, writes_names);
	tcase_add_test(tests, refuses_others);
	tcase_add_test(tests, refuses_long_folders);
	tcase_add_test(tests, accepts_no_other_spelling);
	tcase_add_test(tests, strips_one_ending);
}

int main(void)
{
	return run_suite("segment_name", add);
}
