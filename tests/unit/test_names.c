// SPDX-License-Identifier: GPL-2.0-or-later
#include "names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "suite.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define DEVICE	      (254 << 20 | 1)

static struct names *names;
static uint64_t forgotten[65536];
static unsigned int forgotten_count;

static void note_forgotten(uint64_t id, void *userdata)
{
	ck_assert_ptr_eq(userdata, forgotten);
	ck_assert_uint_lt(forgotten_count, LENGTH(forgotten));
	forgotten[forgotten_count++] = id;
}

static void begin(uint32_t names_max, size_t bytes_max)
{
	struct names_config config = {
		.forget = note_forgotten,
		.userdata = forgotten,
		.names_max = names_max,
		.bytes_max = bytes_max,
		.waiting_max = names_max / 2,
		.waiting_bytes_max = bytes_max / 2,
	};

	forgotten_count = 0;
	ck_assert_int_eq(names_new(&config, &names), 0);
}

static int add_bytes(uint64_t id, uint64_t parent, const void *text, size_t length,
		     unsigned int flags)
{
	char space[sizeof(struct iotr_name_record) + IOTR_NAME_TEXT_MAX] = { 0 };
	struct iotr_name_record *record = (void *)space;

	record->id = id;
	record->parent = parent;
	record->inode = flags & IOTR_NAME_ARGUMENT ? 0 : 1000 + id;
	record->device = DEVICE;
	record->flags = (uint16_t)flags;
	record->length = (uint16_t)length;
	strcpy(record->fs_type, flags & IOTR_NAME_ARGUMENT ? "" : "testfs");
	memcpy(record->text, text, length);
	return names_add(names, record, sizeof(*record) + length);
}

static void add_name(uint64_t id, uint64_t parent, const char *text, unsigned int flags)
{
	ck_assert_int_eq(add_bytes(id, parent, text, strlen(text), flags), 0);
}

static void check(uint64_t id, const char *expected)
{
	struct names_path path;
	char text[NAMES_PATH_MAX];

	ck_assert_msg(names_resolve(names, id, &path), "%llu is unknown", (unsigned long long)id);
	snprintf(text, sizeof(text), "%.*s", (int)path.length, path.text);
	ck_assert_str_eq(text, expected);
}

/* Adds /home/user with the id 3; the tests add their names below it. */
static void add_home(void)
{
	add_name(1, 0, "/", IOTR_NAME_DIRECTORY);
	add_name(2, 1, "home", IOTR_NAME_DIRECTORY);
	add_name(3, 2, "user", IOTR_NAME_DIRECTORY);
}

START_TEST(joins_parents)
{
	struct names_path path;

	begin(0, 0);
	add_home();
	add_name(4, 3, "notes.txt", 0);
	check(1, "/");
	check(2, "/home");
	check(4, "/home/user/notes.txt");
	check(4, "/home/user/notes.txt");
	ck_assert(names_resolve(names, 4, &path));
	ck_assert(path.complete);
	ck_assert_uint_eq(path.device, DEVICE);
	ck_assert_str_eq(path.fs_type, "testfs");
	ck_assert(!names_resolve(names, 5, &path));
	names_free(names);
}
END_TEST

START_TEST(passes_roots_of_mounts)
{
	begin(0, 0);
	add_home();
	add_name(10, 3, "", IOTR_NAME_DIRECTORY);
	add_name(11, 10, "inner", 0);
	add_name(12, 1, "", IOTR_NAME_DIRECTORY);
	add_name(13, 12, "top", 0);
	add_name(14, 0, "", IOTR_NAME_DIRECTORY);
	check(10, "/home/user");
	check(11, "/home/user/inner");
	check(12, "/");
	check(13, "/top");
	check(14, "/");
	names_free(names);
}
END_TEST

START_TEST(shows_files_in_no_folder)
{
	begin(0, 0);
	add_name(1, 0, "memfd:buffer", 0);
	add_name(2, 0, "deep", IOTR_NAME_CUT);
	add_name(3, 2, "deeper", 0);
	check(1, "memfd:buffer");
	check(2, ".../deep");
	check(3, ".../deep/deeper");
	names_free(names);
}
END_TEST

START_TEST(marks_deleted_files)
{
	begin(0, 0);
	add_home();
	add_name(4, 3, "gone", IOTR_NAME_DELETED | IOTR_NAME_DIRECTORY);
	add_name(5, 4, "within", 0);
	add_name(6, 3, "alive", 0);
	check(4, "/home/user/gone (deleted)");
	check(5, "/home/user/gone/within");
	check(6, "/home/user/alive");
	add_name(6, 3, "alive", IOTR_NAME_DELETED);
	check(6, "/home/user/alive (deleted)");
	names_free(names);
}
END_TEST

START_TEST(escapes)
{
	struct names_path path;

	begin(0, 0);
	add_home();
	add_name(4, 3, "a,b", IOTR_NAME_DIRECTORY);
	add_name(5, 4, "c\nd\xff", 0);
	check(5, "/home/user/a\\x2cb/c\\x0ad\\xff");
	ck_assert(names_resolve(names, 5, &path));
	names_free(names);
}
END_TEST

START_TEST(follows_a_change)
{
	begin(0, 0);
	add_home();
	add_name(4, 3, "file", 0);
	check(4, "/home/user/file");
	add_name(3, 2, "other", IOTR_NAME_DIRECTORY);
	check(4, "/home/other/file");
	names_free(names);
}
END_TEST

START_TEST(says_what_is_incomplete)
{
	struct names_path path;

	begin(0, 0);
	add_name(4, 3, "file", 0);
	ck_assert(names_resolve(names, 4, &path));
	ck_assert(!path.complete);
	check(4, ".../file");
	add_home();
	ck_assert(names_resolve(names, 4, &path));
	ck_assert(path.complete);
	check(4, "/home/user/file");
	names_free(names);
}
END_TEST

static const struct {
	uint64_t parent; /* 3: /home/user, 1: /, 4: an id that was never sent, 0: none */
	const char *text;
	const char *expected;
} arguments[] = {
	{ 3, "file", "/home/user/file" },
	{ 3, "./a//b/./c", "/home/user/a/b/c" },
	{ 3, "../x", "/home/x" },
	{ 3, "../../../../x", "/x" },
	{ 3, "..", "/home" },
	{ 3, "../..", "/" },
	{ 3, "a/../../b/", "/home/b" },
	{ 3, "folder/", "/home/user/folder" },
	{ 3, "", "/home/user" },
	{ 3, ".", "/home/user" },
	{ 3, "...", "/home/user/..." },
	{ 3, "..a/.b", "/home/user/..a/.b" },
	{ 3, "a\\b", "/home/user/a\\x5cb" },
	{ 1, "/etc/passwd", "/etc/passwd" },
	{ 1, "//etc/../usr/./lib/", "/usr/lib" },
	{ 1, "/..", "/" },
	{ 1, "/", "/" },
	{ 3, "/in/chroot", "/home/user/in/chroot" },
	{ 3, "/../out", "/home/user/out" },
	{ 9, "x/../y", ".../y" },
	{ 9, "../../y", ".../y" },
	{ 9, "/abs", ".../abs" },
	{ 0, "../target//as/it is", "../target//as/it is" },
};

START_TEST(joins_arguments)
{
	begin(0, 0);
	add_home();
	add_name(100, arguments[_i].parent, arguments[_i].text, IOTR_NAME_ARGUMENT);
	check(100, arguments[_i].expected);
	check(100, arguments[_i].expected);
	names_free(names);
}
END_TEST

START_TEST(bounds_long_paths)
{
	char part[256];
	struct names_path path;

	memset(part, 1, 255);
	part[255] = '\0';
	begin(0, 0);
	add_name(1, 0, "/", 0);
	for (uint64_t id = 2; id < 1000; id++)
		add_name(id, id - 1, part, 0);
	ck_assert(names_resolve(names, 999, &path));
	ck_assert_uint_lt(path.length, NAMES_PATH_MAX);
	ck_assert_mem_eq(path.text, ".../\\x01", 8);
	names_free(names);
}
END_TEST

START_TEST(survives_a_circle)
{
	struct names_path path;

	begin(0, 0);
	add_name(1, 2, "a", 0);
	add_name(2, 1, "b", 0);
	add_name(3, 3, "c", 0);
	ck_assert(names_resolve(names, 1, &path));
	ck_assert(names_resolve(names, 3, &path));
	ck_assert_uint_lt(path.length, NAMES_PATH_MAX);
	names_free(names);
}
END_TEST

START_TEST(refuses_bad_records)
{
	struct iotr_name_record record = { .id = 1, .length = 5 };

	begin(0, 0);
	ck_assert_int_eq(names_add(names, &record, sizeof(record) - 1), -EINVAL);
	ck_assert_int_eq(names_add(names, &record, sizeof(record)), -EINVAL);
	record.length = 0;
	record.id = 0;
	ck_assert_int_eq(names_add(names, &record, sizeof(record)), -EINVAL);
	names_free(names);
}
END_TEST

START_TEST(evicts_the_unused_and_tells)
{
	struct names_path path;
	struct names_counts counts;

	begin(100, 0);
	for (uint64_t id = 1; id <= 100; id++)
		add_name(id, 0, "name", 0);
	ck_assert_uint_eq(forgotten_count, 0);
	add_name(101, 0, "name", 0);
	ck_assert_uint_eq(forgotten_count, 1);
	for (uint64_t id = 1; id <= 50; id++)
		if (id != forgotten[0])
			ck_assert(names_resolve(names, id, &path));
	add_name(102, 0, "name", 0);
	ck_assert_uint_eq(forgotten_count, 2);
	names_counts(names, &counts);
	ck_assert_uint_eq(counts.evicted, 2);
	/* Rows in the rings may still refer to an evicted name until they have been drained once. */
	ck_assert(names_resolve(names, forgotten[0], &path));
	names_cycle_end(names);
	ck_assert(names_resolve(names, forgotten[0], &path));
	names_cycle_end(names);
	ck_assert(!names_resolve(names, forgotten[0], &path));
	ck_assert(!names_resolve(names, forgotten[1], &path));
	names_counts(names, &counts);
	ck_assert_uint_eq(counts.names, 100);
	names_free(names);
}
END_TEST

START_TEST(revives_what_comes_again)
{
	struct names_path path;
	uint64_t id;

	begin(10, 0);
	for (id = 1; id <= 11; id++)
		add_name(id, 0, "name", 0);
	id = forgotten[0];
	add_name(id, 0, "name", 0);
	names_cycle_end(names);
	names_cycle_end(names);
	ck_assert(names_resolve(names, id, &path));
	names_free(names);
}
END_TEST

START_TEST(bounds_what_is_dying)
{
	struct names_counts counts;
	int refused = 0;

	begin(1000, 0);
	for (uint64_t id = 1; id <= 5000; id++)
		refused += add_bytes(id, 0, "name", 4, 0) == -ENOSPC;
	ck_assert_int_gt(refused, 0);
	names_counts(names, &counts);
	ck_assert_uint_le(counts.names, 1501);
	ck_assert_uint_eq(counts.refused, (uint64_t)refused);
	ck_assert_uint_eq(counts.evicted + counts.refused, forgotten_count);
	names_cycle_end(names);
	names_cycle_end(names);
	ck_assert_int_eq(add_bytes(6000, 0, "name", 4, 0), 0);
	names_free(names);
}
END_TEST

START_TEST(bounds_bytes)
{
	char text[2000];
	struct names_counts counts;

	memset(text, 'x', sizeof(text));
	begin(0, 100000);
	for (uint64_t id = 1; id <= 1000; id++) {
		struct names_path path;

		if (!add_bytes(id, 0, text, sizeof(text), 0))
			ck_assert(names_resolve(names, id, &path));
		names_cycle_end(names);
		names_counts(names, &counts);
		ck_assert_uint_le(counts.bytes, 160000);
	}
	ck_assert_uint_gt(counts.names, 10);
	names_free(names);
}
END_TEST

START_TEST(finds_inodes)
{
	struct names_path path;

	begin(0, 0);
	add_home();
	ck_assert(names_inode(names, DEVICE, 1003, &path));
	ck_assert_mem_eq(path.text, "/home/user", path.length);
	ck_assert(!names_inode(names, DEVICE + 1, 1003, &path));
	ck_assert(!names_inode(names, DEVICE, 1004, &path));
	add_name(4, 3, "argument", IOTR_NAME_ARGUMENT);
	ck_assert(!names_inode(names, DEVICE, 0, &path));
	names_free(names);
}
END_TEST

START_TEST(knows_types_of_file_systems)
{
	struct stat status;

	begin(0, 0);
	add_home();
	ck_assert_int_eq(stat("/proc", &status), 0);
	ck_assert_str_eq(names_device_fs(names, DEVICE), "testfs");
	ck_assert_str_eq(names_device_fs(names, major(status.st_dev) << 20 | minor(status.st_dev)),
			 "proc");
	ck_assert_str_eq(names_device_fs(names, 4000U << 20 | 77), "");
	ck_assert_str_eq(names_device_fs(names, 0), "");
	names_free(names);
}
END_TEST

/* As /proc/PID/fd shows them. */
static const struct {
	const char *fs_type, *text, *expected;
} homeless[] = {
	{ "pipefs", "", "pipe:[77]" },
	{ "sockfs", "TCP", "socket:[77]" },
	{ "anon_inodefs", "[eventfd]", "anon_inode:[eventfd]" },
	{ "anon_inodefs", "inotify", "anon_inode:inotify" },
	{ "pidfs", "/", "anon_inode:[pidfd]" },
	{ "tmpfs", "memfd:a name", "/memfd:a name (deleted)" },
	{ "hugetlbfs", "anon_hugepage", "/anon_hugepage (deleted)" },
	{ "tmpfs", "/", "/" },
};

START_TEST(names_what_has_no_folder)
{
	char space[sizeof(struct iotr_name_record) + 64] = { 0 };
	struct iotr_name_record *record = (void *)space;

	begin(0, 0);
	record->id = 5;
	record->inode = 77;
	record->device = 12;
	record->length = (uint16_t)strlen(homeless[_i].text);
	strcpy(record->fs_type, homeless[_i].fs_type);
	memcpy(record->text, homeless[_i].text, record->length);
	ck_assert_int_eq(names_add(names, record, sizeof(*record) + record->length), 0);
	check(5, homeless[_i].expected);
	names_free(names);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, names_what_has_no_folder, 0, LENGTH(homeless));
	tcase_add_test(tests, joins_parents);
	tcase_add_test(tests, passes_roots_of_mounts);
	tcase_add_test(tests, shows_files_in_no_folder);
	tcase_add_test(tests, marks_deleted_files);
	tcase_add_test(tests, escapes);
	tcase_add_test(tests, follows_a_change);
	tcase_add_test(tests, says_what_is_incomplete);
	tcase_add_loop_test(tests, joins_arguments, 0, LENGTH(arguments));
	tcase_add_test(tests, bounds_long_paths);
	tcase_add_test(tests, survives_a_circle);
	tcase_add_test(tests, refuses_bad_records);
	tcase_add_test(tests, evicts_the_unused_and_tells);
	tcase_add_test(tests, revives_what_comes_again);
	tcase_add_test(tests, bounds_what_is_dying);
	tcase_add_test(tests, bounds_bytes);
	tcase_add_test(tests, finds_inodes);
	tcase_add_test(tests, knows_types_of_file_systems);
}

int main(void)
{
	return run_suite("names", add);
}
