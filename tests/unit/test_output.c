// SPDX-License-Identifier: GPL-2.0-or-later
#include "output.h"

#include <errno.h>

#include "folder.h"
#include "suite.h"

static struct folder folder;
static char message[512];
static char path[PATH_MAX];

static int create(const char *name)
{
	int fd;

	message[0] = '\0';
	snprintf(path, sizeof(path), "%s/%s", folder.path, name);
	fd = output_create(path, NULL, message, sizeof(message));
	if (fd >= 0)
		close(fd);
	else
		ck_assert_ptr_nonnull(strstr(message, path));
	return fd;
}

START_TEST(creates_a_folder)
{
	struct stat status;

	folder_begin(&folder);
	ck_assert_int_ge(create("new"), 0);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0750);
	ck_assert_int_ge(create("new"), 0);
	folder_end(&folder);
}
END_TEST

START_TEST(refuses_what_is_no_empty_folder)
{
	folder_begin(&folder);
	ck_assert_int_ge(create("new"), 0);
	ck_assert_int_eq(mkdirat(folder.fd, "new/.hidden", 0700), 0);
	ck_assert_int_eq(create("new"), -ENOTEMPTY);
	ck_assert_int_eq(mknodat(folder.fd, "file", S_IFREG | 0600, 0), 0);
	ck_assert_int_eq(create("file"), -ENOTDIR);
	ck_assert_int_eq(create("file/below"), -ENOTDIR);
	ck_assert_int_eq(create("missing/below"), -ENOENT);
	folder_end(&folder);
}
END_TEST

START_TEST(refuses_what_it_may_not_write)
{
	folder_begin(&folder);
	ck_assert_int_eq(mkdirat(folder.fd, "closed", 0555), 0);
	ck_assert_int_eq(fchmod(folder.fd, 0755), 0);
	if (!geteuid() && seteuid(65534) < 0)
		ck_abort_msg("cannot become another user");
	ck_assert_int_eq(create("closed"), -EACCES);
	ck_assert_int_eq(create("closed/below"), -EACCES);
	if (!getuid() && seteuid(0) < 0)
		ck_abort_msg("cannot become root again");
	folder_end(&folder);
}
END_TEST

START_TEST(follows_the_link_it_is_given)
{
	folder_begin(&folder);
	ck_assert_int_eq(mkdirat(folder.fd, "target", 0700), 0);
	ck_assert_int_eq(symlinkat("target", folder.fd, "link"), 0);
	ck_assert_int_ge(create("link"), 0);
	folder_end(&folder);
}
END_TEST

static void create_default(const char *expected)
{
	char whole[512], log_dir[256];
	int fd;

	snprintf(log_dir, sizeof(log_dir), "%s/var/log", folder.path);
	fd = output_create_default(log_dir, "session", 1700000000, path, NULL, message, sizeof(message));
	ck_assert_msg(fd >= 0, "%s", message);
	close(fd);
	snprintf(whole, sizeof(whole), "%s/session/%s", log_dir, expected);
	ck_assert_str_eq(path, whole);
}

START_TEST(names_the_default_place)
{
	folder_begin(&folder);
	create_default("20231114T221320Z");
	create_default("20231114T221320Z-2");
	create_default("20231114T221320Z-3");
	folder_end(&folder);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, creates_a_folder);
	tcase_add_test(tests, refuses_what_is_no_empty_folder);
	tcase_add_test(tests, refuses_what_it_may_not_write);
	tcase_add_test(tests, follows_the_link_it_is_given);
	tcase_add_test(tests, names_the_default_place);
}

int main(void)
{
	return run_suite("output", add);
}
