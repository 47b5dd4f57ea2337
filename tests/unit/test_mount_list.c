// SPDX-License-Identifier: GPL-2.0-or-later
#include "mount_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "folder.h"
#include "suite.h"

static struct folder folder;
static struct mount_list list;
static struct mount_entry mount;

static void begin(void)
{
	folder_begin(&folder);
}

static void end(void)
{
	mount_list_done(&list);
	folder_end(&folder);
}

static void read_text(const char *text)
{
	char path[128];

	folder_put(&folder, "mountinfo", text);
	snprintf(path, sizeof(path), "%s/mountinfo", folder.path);
	ck_assert_int_eq(mount_list_read(path, &list), 0);
}

START_TEST(takes_lines_apart)
{
	read_text("36 35 254:17 /root /mnt\\040a\\134b rw,noatime shared:1 master:2 - ext4 /dev/r\\011t rw\n"
		  "37 35 0:5 / /a\\9 rw - tmpfs  rw\n");
	ck_assert(mount_list_next(&list, &mount));
	ck_assert_uint_eq(mount.id, 36);
	ck_assert_uint_eq(mount.device, 254 << 20 | 17);
	ck_assert_str_eq(mount.path, "/mnt a\\b");
	ck_assert_str_eq(mount.options, "rw,noatime");
	ck_assert_str_eq(mount.type, "ext4");
	ck_assert_str_eq(mount.source, "/dev/r\tt");
	ck_assert(mount_list_next(&list, &mount));
	ck_assert_str_eq(mount.path, "/a\\9");
	ck_assert_str_eq(mount.source, "");
	ck_assert(!mount_list_next(&list, &mount));
}
END_TEST

/* Paths as the kernel writes them: space, tab, line feed and backslash in octal, other bytes as they are. */
START_TEST(keeps_every_byte)
{
	char path[256] = "/", text[sizeof(path) * 4 + 64], *at = stpcpy(text, "1 0 0:5 / /");

	for (int byte = 1; byte < 256; byte++) {
		if (byte == '/')
			continue;
		path[strlen(path)] = (char)byte;
		at += sprintf(at, strchr(" \t\n\\#", byte) ? "\\%03o" : "%c", byte);
	}
	strcpy(at, " rw - tmpfs LABEL=none rw\n");
	read_text(text);
	ck_assert(mount_list_next(&list, &mount));
	ck_assert_str_eq(mount.path, path);
	ck_assert_str_eq(mount.source, "LABEL=none");
}
END_TEST

START_TEST(passes_over_what_is_none)
{
	read_text("\n36 35 254:17 /root /mnt rw\n36 35 254:17 /root /mnt rw shared:1\nnonsense\n"
		  "x 35 254:17 /root /mnt rw - ext4 s rw\n36 35 254 /root /mnt rw - ext4 s rw\n"
		  "9 1 0:7 / /good rw - tmpfs s rw\n");
	ck_assert(mount_list_next(&list, &mount));
	ck_assert_str_eq(mount.path, "/good");
	ck_assert(!mount_list_next(&list, &mount));
	mount_list_done(&list);
	read_text("");
	ck_assert(!mount_list_next(&list, &mount));
}
END_TEST

START_TEST(says_what_cannot_be_read)
{
	ck_assert_int_eq(mount_list_read("/nowhere/mountinfo", &list), -ENOENT);
}
END_TEST

START_TEST(reads_its_own)
{
	struct stat status;
	bool found = false;

	ck_assert_int_eq(stat("/proc", &status), 0);
	ck_assert_int_eq(mount_list_read(NULL, &list), 0);
	while (mount_list_next(&list, &mount))
		found |= !strcmp(mount.path, "/proc") && !strcmp(mount.type, "proc") &&
			 mount.device == (major(status.st_dev) << 20 | minor(status.st_dev));
	ck_assert(found);
}
END_TEST

START_TEST(knows_pseudo)
{
	static const char *const pseudo[] = { "proc", "cgroup2", "resctrl", "devtmpfs" };
	static const char *const others[] = { "ext4", "tmpfs", "overlay", "fuse", "virtiofs", "hugetlb", "" };

	for (size_t i = 0; i < sizeof(pseudo) / sizeof(pseudo[0]); i++)
		ck_assert_msg(mount_is_pseudo(pseudo[i]), "%s", pseudo[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_msg(!mount_is_pseudo(others[i]), "%s", others[i]);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, takes_lines_apart);
	tcase_add_test(tests, keeps_every_byte);
	tcase_add_test(tests, passes_over_what_is_none);
	tcase_add_test(tests, says_what_cannot_be_read);
	tcase_add_test(tests, reads_its_own);
	tcase_add_test(tests, knows_pseudo);
}

int main(void)
{
	return run_suite("mount_list", add);
}
