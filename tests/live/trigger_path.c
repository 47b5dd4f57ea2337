// SPDX-License-Identifier: GPL-2.0-or-later
/* Names made, moved and removed. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int here(void)
{
	return open(".", O_RDONLY | O_DIRECTORY);
}

static void expect_path(const char *operation, const char *name)
{
	row(operation);
	row_path(name);
}

static void run_unlink(void)
{
	int dir = here();

	touch("one", 10);
	touch("two", 10);
#ifdef SYS_unlink
	SYS(SYS_unlink, "one");
	expect_path("UNLINK", "one");
#endif
	SYS(SYS_unlinkat, dir, "./two", 0);
	expect_path("UNLINK", "two");
	SYS(SYS_unlinkat, dir, "two", 0);
	expect_path("UNLINK", "two");
}

static void run_rmdir(void)
{
	int dir = here();

	mkdir("one", 0755);
	mkdir("two", 0755);
	mkdir("three", 0755);
	mkdir("three/below", 0755);
#ifdef SYS_rmdir
	SYS(SYS_rmdir, "one");
	expect_path("RMDIR", "one");
#endif
	SYS(SYS_unlinkat, dir, "two", AT_REMOVEDIR);
	expect_path("RMDIR", "two");
	row_text("flags", "AT_REMOVEDIR");
	SYS(SYS_unlinkat, dir, "three", AT_REMOVEDIR);
	expect_path("RMDIR", "three");
	row_text("flags", "AT_REMOVEDIR");
}

static void run_mkdir(void)
{
	int dir = here();

#ifdef SYS_mkdir
	SYS(SYS_mkdir, "one", 0755);
	expect_path("MKDIR", "one");
	row_object("one");
#endif
	SYS(SYS_mkdirat, dir, "two", 0755);
	expect_path("MKDIR", "two");
	row_object("two");
	SYS(SYS_mkdirat, dir, "two", 0755);
	expect_path("MKDIR", "two");
}

static void rename_flags(int dir, const char *from, const char *to, int flags, const char *text)
{
	SYS(SYS_renameat2, dir, from, AT_FDCWD, to, flags);
	row("RENAME");
	row_pair(from, to);
	row_text("flags", text);
}

static void run_rename(void)
{
	int dir = here();

	touch("one", 10);
	touch("other", 10);
	mkdir("sub", 0755);
#ifdef SYS_rename
	SYS(SYS_rename, "one", "sub/two");
	row("RENAME");
	row_pair("one", "sub/two");
	row_object("sub/two");
	SYS(SYS_rename, "sub/two", "one");
	row("RENAME");
	row_pair("sub/two", "one");
#endif
	SYS(SYS_renameat, dir, "one", AT_FDCWD, "sub/./three");
	row("RENAME");
	row_pair("one", "sub/three");
	SYS(SYS_renameat, dir, "missing", dir, "sub/four");
	row("RENAME");
	row_pair("missing", "sub/four");
	touch("a -> b", 10);
	SYS(SYS_renameat, dir, "a -> b", dir, "-> c");
	row("RENAME");
	row_pair("a -> b", "-> c");
	rename_flags(dir, "other", "sub/three", RENAME_NOREPLACE, "RENAME_NOREPLACE");
	rename_flags(dir, "other", "sub/three", RENAME_EXCHANGE, "RENAME_EXCHANGE");
}

static void run_link(void)
{
	int dir = here();

	touch("one", 10);
	mkdir("sub", 0755);
	if (symlink("one", "soft"))
		die("symlink");
#ifdef SYS_link
	SYS(SYS_link, "one", "sub/two");
	row("LINK");
	row_pair("one", "sub/two");
	row_object("one");
#endif
	SYS(SYS_linkat, dir, "one", AT_FDCWD, "sub/three", 0);
	row("LINK");
	row_pair("one", "sub/three");
	row_object("one");
	SYS(SYS_linkat, dir, "soft", dir, "four", AT_SYMLINK_FOLLOW);
	row("LINK");
	row_text("flags", "AT_SYMLINK_FOLLOW");
	SYS(SYS_linkat, dir, "missing", dir, "five", 0);
	row("LINK");
	row_pair("missing", "five");
}

/* The target stays as it was given. */
static void expect_symlink(const char *target, const char *name)
{
	static char pair[3 * PATH_MAX], path[2 * PATH_MAX];

	snprintf(pair, sizeof(pair), "%s" ARROW, target);
	strcat(pair, absolute(path, name));
	row("SYMLINK");
	row_text("filename", pair);
}

static void run_symlink(void)
{
	int dir = here();

	mkdir("sub", 0755);
#ifdef SYS_symlink
	SYS(SYS_symlink, "../one/./two", "sub/soft");
	expect_symlink("../one/./two", "sub/soft");
#endif
	SYS(SYS_symlinkat, "/nowhere/at all", dir, "absolute");
	expect_symlink("/nowhere/at all", "absolute");
	SYS(SYS_symlinkat, "again", dir, "absolute");
	expect_symlink("again", "absolute");
}

const struct trigger path_triggers[] = {
	{ .name = "unlink", .operations = "UNLINK", .run = run_unlink },
	{ .name = "rmdir", .operations = "RMDIR", .run = run_rmdir },
	{ .name = "mkdir", .operations = "MKDIR", .run = run_mkdir },
	{ .name = "rename", .operations = "RENAME", .run = run_rename },
	{ .name = "link", .operations = "LINK", .run = run_link },
	{ .name = "symlink", .operations = "SYMLINK", .run = run_symlink },
	{ 0 },
};
