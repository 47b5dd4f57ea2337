// SPDX-License-Identifier: GPL-2.0-or-later
#include "rooted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "folder.h"
#include "suite.h"

#define LONG_NAME "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789" \
		  "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789" \
		  "01234567890123456789012345678901234567890123456789012345"

static struct folder folder;
static int root;

static void begin(void)
{
	static const char *const links[][2] = {
		{ "/a/b", "a/absolute" }, { "../../../a/b", "a/above" }, { "b/file", "a/near" },   { "loop", "a/loop" },
		{ "/nowhere", "a/lost" }, { "/", "top" },		 { "b/", "a/slashed" },    { "near/", "a/no_folder" },
		{ "a/absolute", "far" },  { "/proc/self/cwd", "odd" },	 { "..", "a/b/up" },
	};

	folder_begin(&folder);
	root = open(folder.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(root, 0);
	ck_assert_int_eq(mkdirat(root, "a", 0700), 0);
	ck_assert_int_eq(mkdirat(root, "a/b", 0700), 0);
	close(openat(root, "a/b/file", O_WRONLY | O_CREAT, 0600));
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		ck_assert_int_eq(symlinkat(links[i][0], root, links[i][1]), 0);
}

static void end(void)
{
	close(root);
	folder_end(&folder);
}

/* What was found, or the error, as one number; the descriptor is closed. */
static long long found(int fd)
{
	struct stat status;
	int error = errno;

	if (fd < 0)
		return -error;
	ck_assert_int_eq(fstat(fd, &status), 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	return (long long)status.st_ino;
}

static long long as_the_kernel(const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };

	return found((int)syscall(SYS_openat2, root, path, &how, sizeof(how)));
}

START_TEST(finds_what_the_kernel_does)
{
	static const char *const paths[] = {
		"/", "//", ".", "", "..", "/..", "/../..", "a", "/a", "/a/", "a/./b//file", "a/b/../b/file", "a/b/file/",
		"a/b/file/..", "a/b/file/x", "a/x", "a/x/y", "a/absolute", "a/absolute/file", "a/absolute/", "a/above/file",
		"a/above", "a/near", "a/near/", "a/loop", "a/loop/x", "a/lost", "a/lost/x", "top", "top/a", "top/../top/top/a/b",
		"a/slashed", "a/slashed/file", "a/no_folder", "far", "far/file", "far/up/near", "a/b/up/..", "a/absolute/..",
		"a/absolute/.", "odd", LONG_NAME, "a/" LONG_NAME "/b",
	};
	static const int ways[] = { O_PATH, O_PATH | O_NOFOLLOW, O_PATH | O_DIRECTORY, O_RDONLY, O_RDONLY | O_NOFOLLOW,
				    O_RDONLY | O_DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		for (size_t j = 0; j < sizeof(ways) / sizeof(ways[0]); j++)
			ck_assert_msg(found(rooted_open(root, paths[i], ways[j])) == as_the_kernel(paths[i], ways[j]),
				      "'%s', %o", paths[i], ways[j]);
}
END_TEST

START_TEST(refuses_what_is_too_long)
{
	char path[PATH_MAX + 1];

	memset(path, '/', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	ck_assert_int_eq(found(rooted_open(root, path, O_PATH)), -ENAMETOOLONG);
}
END_TEST

/* In a folder as /tmp, links are followed that the folder's owner made, or who follows them. */
START_TEST(distrusts_links_of_others)
{
	ck_assert_int_eq(mkdirat(root, "tmp", 0700), 0);
	ck_assert_int_eq(symlinkat("/a/b", root, "tmp/link"), 0);
	ck_assert_int_eq(fchmodat(root, "tmp", 01777, 0), 0);
	ck_assert_int_gt(found(rooted_open(root, "tmp/link/file", O_PATH)), 0);
	if (geteuid())
		return;
	ck_assert_int_eq(fchownat(root, "tmp/link", 54321, 54321, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_int_eq(found(rooted_open(root, "tmp/link/file", O_PATH)), -EACCES);
	ck_assert_int_eq(found(rooted_open(root, "tmp/link", O_PATH)), -EACCES);
	ck_assert_int_gt(found(rooted_open(root, "tmp/link", O_PATH | O_NOFOLLOW)), 0);
	ck_assert_int_eq(fchmodat(root, "tmp", 0755, 0), 0);
	ck_assert_int_gt(found(rooted_open(root, "tmp/link/file", O_PATH)), 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, finds_what_the_kernel_does);
	tcase_add_test(tests, refuses_what_is_too_long);
	tcase_add_test(tests, distrusts_links_of_others);
}

int main(void)
{
	return run_suite("rooted", add);
}
