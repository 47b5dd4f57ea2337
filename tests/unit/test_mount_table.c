// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/mount_table.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "suite.h"

START_TEST(finds_the_device_of_a_mount)
{
	struct statx st;
	uint32_t device = 0;

	ck_assert_int_eq(statx(AT_FDCWD, "/proc", 0, STATX_INO | STATX_MNT_ID, &st), 0);
	ck_assert_int_eq(mount_device(st.stx_mnt_id, &device), 0);
	ck_assert_uint_eq(device, st.stx_dev_major << 20 | st.stx_dev_minor);
}
END_TEST

START_TEST(knows_what_is_not_mounted)
{
	uint32_t device;
	char path[2];

	ck_assert_int_eq(mount_device(~0ULL, &device), -ENOENT);
	ck_assert_int_lt(mount_cgroups(path, sizeof(path)), 0); /* none, or no room for its path */
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, finds_the_device_of_a_mount);
	tcase_add_test(tests, knows_what_is_not_mounted);
}

int main(void)
{
	return run_suite("mount_table", add);
}
