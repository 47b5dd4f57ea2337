// SPDX-License-Identifier: GPL-2.0-or-later
/* What programs ask of files and attach to them: access, links read, extended attributes, file systems. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef SYS_setxattrat
#define SYS_setxattrat	  463
#define SYS_getxattrat	  464
#define SYS_listxattrat	  465
#define SYS_removexattrat 466
#endif

/* struct xattr_args of the kernel. */
struct arguments {
	uint64_t value;
	uint32_t size;
	uint32_t flags;
};

static char space[4096];

static void expect_path(const char *operation, const char *name)
{
	row(operation);
	row_path(name);
}

static void expect_fd(const char *operation, const struct file *file)
{
	row(operation);
	row_text("filename", file->path);
	row_number("inode", (long long)file->inode);
	row_text("device", file->device);
	row_number("fd", file->fd);
}

/* A call that this kernel does not have made a row all the same, or none. */
static bool lacks(const char *operation, const char *name)
{
	if (last.ret != -ENOSYS)
		return false;
	row(operation);
	row_skip("size");
	row_optional();
	note_missing(name);
	return true;
}

static void run_mknod(void)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY);

	mkdir("sub", 0755);
#ifdef SYS_mknod
	SYS(SYS_mknod, "sub/fifo", S_IFIFO | 0600, 0);
	expect_path("MKNOD", "sub/fifo");
	row_object("sub/fifo");
	SYS(SYS_mknod, "null", S_IFCHR | 0600, makedev(1, 3));
	expect_path("MKNOD", "null");
#endif
	SYS(SYS_mknodat, dir, "./file", S_IFREG | 0600, 0);
	expect_path("MKNOD", "file");
	row_object("file");
	SYS(SYS_mknodat, dir, "file", S_IFREG | 0600, 0);
	expect_path("MKNOD", "file");
}

static void expect_access(const char *name, const char *flags)
{
	expect_path("ACCESS", name);
	row_text("flags", flags);
}

static void run_access(void)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY);

	touch("file", 10);
#ifdef SYS_access
	SYS(SYS_access, "file", F_OK);
	expect_access("file", "F_OK");
	SYS(SYS_access, "missing", R_OK | W_OK);
	expect_access("missing", "R_OK|W_OK");
#endif
	SYS(SYS_faccessat, dir, "./file", X_OK);
	expect_access("file", "X_OK");
	SYS(SYS_faccessat2, dir, "file", R_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW);
	expect_access("file", "R_OK|AT_SYMLINK_NOFOLLOW|AT_EACCESS");
}

static void expect_readlink(const char *name, long long size)
{
	expect_path("READLINK", name);
	row_number("size", size);
	row_object(name);
}

static void run_readlink(void)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY);

	touch("file", 10);
	if (symlink("some/where else", "soft"))
		die("symlink");
#ifdef SYS_readlink
	SYS(SYS_readlink, "soft", space, 100);
	expect_readlink("soft", 100);
	SYS(SYS_readlink, "file", space, 100);
	expect_path("READLINK", "file");
	row_number("size", 100);
#endif
	SYS(SYS_readlinkat, dir, "./soft", space, 7); /* cut */
	expect_readlink("soft", 7);
	strcpy(space, "soft"); /* where the answer goes, too */
	SYS(SYS_readlinkat, dir, space, space, 100);
	expect_readlink("soft", 100);
}

static bool xattr_works(const char *name)
{
	if (!setxattr(name, "user.there", "before", 6, 0))
		return true;
	note_missing("extended attributes on this file system");
	return false;
}

static void xattr_paths(void)
{
	SYS(SYS_setxattr, "file", "user.one", "12345", 5, XATTR_CREATE);
	expect_path("SETXATTR", "file");
	row_number("size", 5);
	row_text("flags", "XATTR_CREATE");
	row_object("file");
	SYS(SYS_lsetxattr, "file", "user.two", "1234567", 7, 0);
	expect_path("SETXATTR", "file");
	row_number("size", 7);
	row_text("flags", "0");
	SYS(SYS_getxattr, "file", "user.one", space, 50);
	expect_path("GETXATTR", "file");
	row_number("size", 50);
	row_object("file");
	SYS(SYS_lgetxattr, "file", "user.none", space, 50);
	expect_path("GETXATTR", "file");
	row_number("size", 50);
	SYS(SYS_listxattr, "file", space, 200);
	expect_path("LISTXATTR", "file");
	row_number("size", 200);
	row_object("file");
	SYS(SYS_llistxattr, "file", NULL, 0);
	expect_path("LISTXATTR", "file");
	row_number("size", 0);
	SYS(SYS_removexattr, "file", "user.one");
	expect_path("REMOVEXATTR", "file");
	row_object("file");
	SYS(SYS_lremovexattr, "file", "user.one");
	expect_path("REMOVEXATTR", "file");
}

static void xattr_descriptors(const struct file *file)
{
	SYS(SYS_fsetxattr, file->fd, "user.there", "123", 3, XATTR_REPLACE);
	expect_fd("SETXATTR", file);
	row_number("size", 3);
	row_text("flags", "XATTR_REPLACE");
	SYS(SYS_fgetxattr, file->fd, "user.there", space, 30);
	expect_fd("GETXATTR", file);
	row_number("size", 30);
	SYS(SYS_flistxattr, file->fd, space, 40);
	expect_fd("LISTXATTR", file);
	row_number("size", 40);
	SYS(SYS_fremovexattr, file->fd, "user.there");
	expect_fd("REMOVEXATTR", file);
}

/* The calls of Linux 6.13. */
static void xattr_at(int dir)
{
	struct arguments arguments = { (uintptr_t)"12", 2, XATTR_CREATE };

	SYS(SYS_setxattrat, dir, "file", AT_SYMLINK_NOFOLLOW, "user.at", &arguments, sizeof(arguments));
	if (lacks("SETXATTR", "setxattrat"))
		return;
	expect_path("SETXATTR", "file");
	row_number("size", 2);
	row_text("flags", "XATTR_CREATE|AT_SYMLINK_NOFOLLOW");
	arguments = (struct arguments){ (uintptr_t)space, 60, 0 };
	SYS(SYS_getxattrat, dir, "file", 0, "user.at", &arguments, sizeof(arguments));
	expect_path("GETXATTR", "file");
	row_number("size", 60);
	row_text("flags", "0");
	SYS(SYS_listxattrat, dir, "file", 0, space, 70);
	expect_path("LISTXATTR", "file");
	row_number("size", 70);
	row_text("flags", "0");
	SYS(SYS_removexattrat, dir, "file", 0, "user.at");
	expect_path("REMOVEXATTR", "file");
	row_text("flags", "0");
}

static void run_xattr(void)
{
	struct file file = file_make("file", O_RDONLY, 10);

	if (!xattr_works("file"))
		return;
	xattr_paths();
	xattr_descriptors(&file);
	xattr_at(open(".", O_RDONLY | O_DIRECTORY));
}

static void run_statfs(void)
{
	struct file file = file_make("file", O_RDONLY, 10);
	struct stat stat;

	SYS(SYS_statfs, "file", space);
	expect_path("STATFS", "file");
	row_object("file");
	SYS(SYS_statfs, "missing", space);
	expect_path("STATFS", "missing");
	row_empty("inode");
	SYS(SYS_fstatfs, file.fd, space);
	expect_fd("STATFS", &file);
#ifdef SYS_ustat
	fstat(file.fd, &stat);
	SYS(SYS_ustat, stat.st_dev, space);
	row("STATFS");
	row_empty("filename");
	row_text("device_function", file.device);
#endif
}

const struct trigger ask_triggers[] = {
	{ .name = "mknod", .operations = "MKNOD", .run = run_mknod },
	{ .name = "access", .operations = "ACCESS", .run = run_access },
	{ .name = "readlink", .operations = "READLINK", .run = run_readlink },
	{ .name = "xattr", .operations = "GETXATTR,SETXATTR,LISTXATTR,REMOVEXATTR", .run = run_xattr },
	{ .name = "statfs", .operations = "STATFS", .run = run_statfs },
	{ 0 },
};
