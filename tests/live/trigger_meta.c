// SPDX-License-Identifier: GPL-2.0-or-later
/* Attributes read and changed, and the working directory. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

/* Inode and device of what was looked at are known to the call itself. */
static void expect_getattr(const char *name, const char *object)
{
	struct file file = { .fd = open(object, O_PATH | O_NOFOLLOW) };

	file = file_of(file.fd);
	row("GETATTR");
	row_path(name);
	row_number("inode", (long long)file.inode);
	row_text("device", file.device);
	close(file.fd);
}

static void getattr_paths(char *result)
{
#ifdef SYS_stat
	SYS(SYS_stat, "one", result);
	expect_getattr("one", "one");
	SYS(SYS_stat, "soft", result);
	row("GETATTR");
	SYS(SYS_lstat, "soft", result);
	expect_getattr("soft", "soft");
	SYS(SYS_stat, "missing", result);
	row("GETATTR");
	row_path("missing");
	row_empty("inode");
#endif
	SYS(SYS_newfstatat, AT_FDCWD, "./sub/../one", result, 0);
	expect_getattr("one", "one");
	SYS(SYS_newfstatat, AT_FDCWD, "soft", result, AT_SYMLINK_NOFOLLOW);
	expect_getattr("soft", "soft");
	row_text("flags", "AT_SYMLINK_NOFOLLOW");
	SYS(SYS_statx, AT_FDCWD, "one", 0, STATX_BASIC_STATS, result);
	expect_getattr("one", "one");
	SYS(SYS_statx, AT_FDCWD, "missing", AT_SYMLINK_NOFOLLOW, STATX_INO, result);
	row("GETATTR");
	row_path("missing");
	row_empty("inode");
	row_text("flags", "AT_SYMLINK_NOFOLLOW");
}

static void run_getattr(void)
{
	static char result[1024];
	struct file file = file_make("one", O_RDONLY, 10);

	mkdir("sub", 0755);
	if (symlink("one", "soft"))
		die("symlink");
	getattr_paths(result);
	SYS(SYS_fstat, file.fd, result);
	expect_getattr("one", "one");
	row_number("fd", file.fd);
	SYS(SYS_newfstatat, file.fd, "", result, AT_EMPTY_PATH);
	expect_getattr("one", "one");
	row_text("flags", "AT_EMPTY_PATH");
	SYS(SYS_statx, file.fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, result);
	expect_getattr("one", "one");
	row_text("flags", "AT_EMPTY_PATH");
	file = file_of(open("sub", O_PATH | O_DIRECTORY));
	SYS(SYS_newfstatat, file.fd, "../one", result, 0);
	expect_getattr("one", "one");
}

static void expect_setattr(const char *name)
{
	row("SETATTR");
	row_path(name);
	row_object(name);
}

static void expect_setattr_fd(const struct file *file)
{
	row("SETATTR");
	row_text("filename", file->path);
	row_number("inode", (long long)file->inode);
	row_text("device", file->device);
	row_number("fd", file->fd);
}

static void run_chmod(void)
{
	struct file file = file_make("one", O_RDONLY, 10);

#ifdef SYS_chmod
	SYS(SYS_chmod, "one", 0600);
	expect_setattr("one");
#endif
	SYS(SYS_fchmod, file.fd, 0640);
	expect_setattr_fd(&file);
	SYS(SYS_fchmodat, AT_FDCWD, "one", 0644);
	expect_setattr("one");
	SYS(SYS_fchmodat, AT_FDCWD, "missing", 0644);
	expect_setattr("missing");
	SYS(SYS_fchmodat2, AT_FDCWD, "one", 0600, AT_SYMLINK_NOFOLLOW);
	if (last.ret == -ENOSYS) { /* a row where the call has a number at all */
		row("SETATTR");
		row_optional();
		return note_missing("fchmodat2");
	}
	expect_setattr("one");
	row_text("flags", "AT_SYMLINK_NOFOLLOW");
}

static void run_chown(void)
{
	struct file file = file_make("one", O_RDONLY, 10);

#ifdef SYS_chown
	SYS(SYS_chown, "one", getuid(), getgid());
	expect_setattr("one");
	SYS(SYS_lchown, "one", getuid(), -1);
	expect_setattr("one");
#endif
	SYS(SYS_fchown, file.fd, -1, getgid());
	expect_setattr_fd(&file);
	SYS(SYS_fchownat, AT_FDCWD, "one", getuid(), getgid(), 0);
	expect_setattr("one");
	SYS(SYS_fchownat, AT_FDCWD, "one", getuid(), getgid(), AT_SYMLINK_NOFOLLOW);
	expect_setattr("one");
	row_text("flags", "AT_SYMLINK_NOFOLLOW");
}

static void run_utime(void)
{
	struct file file = file_make("one", O_RDWR, 10);
	struct timespec times[2] = { { 1000, 1 }, { 2000, 2 } };

#ifdef SYS_utime
	struct utimbuf seconds = { 1, 2 };
	struct timeval micro[2] = { { 3, 4 }, { 5, 6 } };

	SYS(SYS_utime, "one", &seconds);
	expect_setattr("one");
	SYS(SYS_utimes, "one", micro);
	expect_setattr("one");
	SYS(SYS_futimesat, AT_FDCWD, "one", micro);
	expect_setattr("one");
#endif
	SYS(SYS_utimensat, AT_FDCWD, "one", times, 0);
	expect_setattr("one");
	SYS(SYS_utimensat, AT_FDCWD, "one", times, AT_SYMLINK_NOFOLLOW);
	expect_setattr("one");
	row_text("flags", "AT_SYMLINK_NOFOLLOW");
	SYS(SYS_utimensat, file.fd, NULL, times, 0);
	expect_setattr_fd(&file);
}

static void run_chdir(void)
{
	int dir;

	mkdir("sub", 0755);
	mkdir("sub/below", 0755);
	dir = open("sub/below", O_RDONLY | O_DIRECTORY);
	SYS(SYS_chdir, "sub");
	row("CHDIR");
	row_path("sub");
	SYS(SYS_chdir, "below/../../sub/below");
	row("CHDIR");
	row_path("sub/below");
	SYS(SYS_chdir, "..");
	row("CHDIR");
	row_path("sub");
	SYS(SYS_fchdir, dir);
	row("CHDIR");
	row_path("sub/below");
	row_number("fd", dir);
	SYS(SYS_chdir, "missing");
	row("CHDIR");
	row_path("sub/below/missing");
	SYS(SYS_chdir, trigger_dir);
	row("CHDIR");
	row_path(trigger_dir);
}

const struct trigger meta_triggers[] = {
	{ .name = "getattr", .operations = "GETATTR", .run = run_getattr },
	{ .name = "chmod", .operations = "SETATTR", .run = run_chmod },
	{ .name = "chown", .operations = "SETATTR", .run = run_chown },
	{ .name = "utime", .operations = "SETATTR", .run = run_utime },
	{ .name = "chdir", .operations = "CHDIR", .run = run_chdir },
	{ 0 },
};
