// SPDX-License-Identifier: GPL-2.0-or-later
#include "mountinfo.h"

#include "folder.h"
#include "suite.h"

static struct folder folder;
static struct mountinfo mounts;

static void begin(void)
{
	folder_begin(&folder);
}

static void end(void)
{
	mountinfo_done(&mounts);
	folder_end(&folder);
}

static void read_text(const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/mountinfo", folder.path);
	file = fopen(path, "we");
	fputs(text, file);
	fclose(file);
	ck_assert_int_eq(mountinfo_read(path, &mounts), 0);
}

START_TEST(reads_lines)
{
	read_text("22 27 0:21 / /proc rw,relatime - proc proc rw\n"
		  "27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw\n"
		  "30 27 8:1 /sub /mnt/a\\040b\\134c rw - xfs /dev/sda1 rw\n"
		  "31 27 8:1 / /no\n"
		  "nonsense\n"
		  "\n");
	ck_assert_uint_eq(mounts.count, 3);
	ck_assert_str_eq(mounts.entries[0].mount.path, "/");
	ck_assert_str_eq(mounts.entries[0].mount.type, "ext4");
	ck_assert_str_eq(mounts.entries[0].mount.source, "/dev/vda");
	ck_assert_str_eq(mounts.entries[0].mount.options, "rw,relatime");
	ck_assert_uint_eq(mounts.entries[0].mount.device >> 20, 254);
	ck_assert_str_eq(mounts.entries[1].mount.path, "/mnt/a b\\c");
	ck_assert_uint_eq(mounts.entries[1].mount.device, 8 << 20 | 1);
	ck_assert_str_eq(mounts.entries[2].mount.type, "proc");
}
END_TEST

/* Of several mounts on one mount point the topmost counts. */
START_TEST(keeps_topmost)
{
	read_text("1 0 8:1 / /a rw - ext4 first rw\n"
		  "2 0 8:2 / /b rw - ext4 other rw\n"
		  "3 0 8:3 / /a rw - xfs second rw\n"
		  "4 0 8:4 / /a rw - btrfs third rw\n");
	ck_assert_uint_eq(mounts.count, 2);
	ck_assert_str_eq(mountinfo_at(&mounts, "/a", 2)->source, "third");
}
END_TEST

START_TEST(finds)
{
	read_text("1 0 8:1 / / rw - ext4 root rw\n"
		  "2 0 8:2 / /a rw - ext4 a rw\n"
		  "3 0 8:3 / /a/b rw - xfs ab rw\n"
		  "4 0 8:4 / /a.b rw - xfs dot rw\n"
		  "5 0 8:5 / /a/bc rw - xfs abc rw\n");
	ck_assert_str_eq(mountinfo_of(&mounts, "/a/b/file")->source, "ab");
	ck_assert_str_eq(mountinfo_of(&mounts, "/a/bx")->source, "a");
	ck_assert_str_eq(mountinfo_of(&mounts, "/ax")->source, "root");
	ck_assert_str_eq(mountinfo_of(&mounts, "/")->source, "root");
	ck_assert_str_eq(mountinfo_at(&mounts, "/a/b", 4)->source, "ab");
	ck_assert_str_eq(mountinfo_at(&mounts, "/a/bc/d", 5)->source, "abc");
	ck_assert_ptr_null(mountinfo_at(&mounts, "/a/", 3));
	ck_assert_ptr_null(mountinfo_at(&mounts, "/a/bcd", 6));
	ck_assert_str_eq(mounts.entries[mountinfo_below(&mounts, "/a", 2)].mount.source, "ab");
	ck_assert_str_eq(mounts.entries[mountinfo_below(&mounts, "", 0)].mount.source, "root");
	ck_assert_uint_eq(mountinfo_below(&mounts, "/z", 2), mounts.count);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, reads_lines);
	tcase_add_test(tests, keeps_topmost);
	tcase_add_test(tests, finds);
}

int main(void)
{
	return run_suite("mountinfo", add);
}
