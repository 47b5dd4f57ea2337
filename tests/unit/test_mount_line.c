// SPDX-License-Identifier: GPL-2.0-or-later
#include "mount_line.h"

#include <string.h>

#include "suite.h"

static bool read_line(const char *text, struct mount_line *line)
{
	static char copy[256];

	strcpy(copy, text);
	return mount_line_read(copy, line);
}

START_TEST(takes_a_line_apart)
{
	struct mount_line line;

	ck_assert(read_line("36 35 254:17 /root /mnt\\040a\\134b rw,noatime shared:1 master:2 - ext4 /dev/r\\011t rw\n",
			    &line));
	ck_assert_uint_eq(line.number, 36);
	ck_assert_uint_eq(line.major, 254);
	ck_assert_uint_eq(line.minor, 17);
	ck_assert_uint_eq(mount_line_device(&line), 254 << 20 | 17);
	ck_assert_str_eq(line.point, "/mnt a\\b");
	ck_assert_str_eq(line.options, "rw,noatime");
	ck_assert_str_eq(line.type, "ext4");
	ck_assert_str_eq(line.source, "/dev/r\tt");
}
END_TEST

START_TEST(takes_what_has_no_options_and_no_source)
{
	struct mount_line line;

	ck_assert(read_line("1 0 0:5 / / rw - tmpfs", &line));
	ck_assert_str_eq(line.type, "tmpfs");
	ck_assert_str_eq(line.source, "");
	ck_assert(read_line("1 0 0:5 / /a\\9 rw - tmpfs  rw", &line));
	ck_assert_str_eq(line.point, "/a\\9");
	ck_assert_str_eq(line.source, "");
}
END_TEST

START_TEST(refuses_what_is_none)
{
	static const char *const texts[] = {
		"", "\n", "36 35 254:17 /root /mnt rw", "36 35 254:17 /root /mnt rw shared:1",
		"x 35 254:17 /root /mnt rw - ext4 s rw", "36 35 254 /root /mnt rw - ext4 s rw",
	};
	struct mount_line line;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_msg(!read_line(texts[i], &line), "'%s'", texts[i]);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, takes_a_line_apart);
	tcase_add_test(tests, takes_what_has_no_options_and_no_source);
	tcase_add_test(tests, refuses_what_is_none);
}

int main(void)
{
	return run_suite("mount_line", add);
}
