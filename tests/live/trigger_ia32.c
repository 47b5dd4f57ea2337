// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls by 32-bit numbers: function hooks see none of them, tracepoints all. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifdef __x86_64__
/* The architecture's own numbers: see arch/x86/entry/syscalls/syscall_32.tbl of the kernel. */
enum {
	IA32_READ = 3, IA32_WRITE = 4, IA32_OPEN = 5, IA32_CLOSE = 6, IA32_MKNOD = 14, IA32_MOUNT = 21,
	IA32_OLDUMOUNT = 22, IA32_ACCESS = 33, IA32_MKDIR = 39, IA32_UMOUNT = 52, IA32_USTAT = 62,
	IA32_READLINK = 85, IA32_STATFS = 99, IA32_FSTATFS = 100, IA32_FLOCK = 143, IA32_PIVOT_ROOT = 217,
	IA32_FCNTL = 55, IA32_FCNTL64 = 221,
	IA32_READAHEAD = 225, IA32_SETXATTR = 226, IA32_LSETXATTR, IA32_FSETXATTR, IA32_GETXATTR, IA32_LGETXATTR,
	IA32_FGETXATTR, IA32_LISTXATTR, IA32_LLISTXATTR, IA32_FLISTXATTR, IA32_REMOVEXATTR, IA32_LREMOVEXATTR,
	IA32_FREMOVEXATTR, IA32_FADVISE64 = 250, IA32_STATFS64 = 268, IA32_FSTATFS64, IA32_FADVISE64_64 = 272,
	IA32_MKNODAT = 297, IA32_READLINKAT = 305, IA32_FACCESSAT = 307, IA32_MOVE_MOUNT = 429, IA32_FACCESSAT2 = 439,
	IA32_SETXATTRAT = 463, IA32_GETXATTRAT, IA32_LISTXATTRAT, IA32_REMOVEXATTRAT,
};

enum { ROOM = 4096, STATFS64_SIZE = 84 };

/* Descriptors, paths and buffers must lie below 4 GiB. */
static char *low;
static size_t low_used;

static long low_text(const char *text)
{
	char *at = low + low_used;

	low_used += strlen(text) + 1;
	if (low_used > ROOM)
		die("room for texts");
	return (long)strcpy(at, text);
}

/* Where the kernel puts its answers, behind the texts. */
static long low_space(void)
{
	return (long)(low + ROOM);
}

static long ia32_call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long last_one __asm__("r12") = f;
	long ret;

	window_begin();
	__asm__ volatile("xchg %%rbp, %%r12\n\t"
			 "int $0x80\n\t"
			 "xchg %%rbp, %%r12"
			 : "=a"(ret), "+r"(last_one)
			 : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
			 : "memory", "r8", "r9", "r10", "r11");
	window_end((int)ret);
	return last.ret;
}

#define IA32(nr, ...) IA32_CALL(nr, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define IA32_CALL(nr, a, b, c, d, e, f, ...) \
	ia32_call(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static void expect(const char *operation)
{
	row(operation);
	row_level("tracepoint");
}

/* Makes ready for such calls; false where the kernel has none. */
static bool narrow(void)
{
	low = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (low == MAP_FAILED)
		die("MAP_32BIT");
	if (IA32(IA32_CLOSE, -1) == -ENOSYS) {
		note_missing("32-bit system calls");
		return false;
	}
	expect("CLOSE");
	row_number("fd", -1);
	return true;
}

static void expect_path(const char *operation, const char *name)
{
	expect(operation);
	row_path(name);
}

static void expect_fd(const char *operation, const struct file *file)
{
	expect(operation);
	row_text("filename", file->path);
	row_number("inode", (long long)file->inode);
	row_text("device", file->device);
	row_number("fd", file->fd);
}

static void run_ia32(void)
{
	struct file file = file_make("file", O_RDWR, 100);

	if (!narrow())
		return;
	IA32(IA32_WRITE, file.fd, low, 30);
	expect_fd("WRITE", &file);
	row_io(30, 0);
	IA32(IA32_READ, file.fd, low_space(), 20);
	expect_fd("READ", &file);
	row_io(20, 30);
	file = file_of((int)IA32(IA32_OPEN, low_text("file"), O_RDONLY));
	expect_fd("OPEN", &file);
	IA32(IA32_CLOSE, file.fd);
	expect_fd("CLOSE", &file);
	IA32(IA32_MKDIR, low_text("dir"), 0755);
	expect_path("MKDIR", "dir");
}

static void run_asks(void)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY);
	long file, soft;

	touch("file", 10);
	if (symlink("some/where else", "soft"))
		die("symlink");
	if (!narrow())
		return;
	file = low_text("file");
	soft = low_text("soft");
	IA32(IA32_ACCESS, file, R_OK | W_OK);
	expect_path("ACCESS", "file");
	row_text("flags", "R_OK|W_OK");
	IA32(IA32_FACCESSAT, dir, low_text("./missing"), X_OK);
	expect_path("ACCESS", "missing");
	row_text("flags", "X_OK");
	IA32(IA32_FACCESSAT2, dir, file, F_OK, AT_EACCESS);
	expect_path("ACCESS", "file");
	row_text("flags", "F_OK|AT_EACCESS");
	IA32(IA32_READLINK, soft, low_space(), 100);
	expect_path("READLINK", "soft");
	row_number("size", 100);
	IA32(IA32_READLINKAT, dir, soft, low_space(), 4);
	expect_path("READLINK", "soft");
	row_number("size", 4);
	IA32(IA32_MKNOD, low_text("fifo"), S_IFIFO | 0600, 0);
	expect_path("MKNOD", "fifo");
	IA32(IA32_MKNODAT, dir, low_text("regular"), S_IFREG | 0600, 0);
	expect_path("MKNOD", "regular");
}

static void run_statfs(void)
{
	struct file file = file_make("file", O_RDONLY, 10);
	long path;

	if (!narrow())
		return;
	path = low_text("file");
	IA32(IA32_STATFS, path, low_space());
	expect_path("STATFS", "file");
	IA32(IA32_STATFS64, low_text("missing"), STATFS64_SIZE, low_space());
	expect_path("STATFS", "missing");
	IA32(IA32_STATFS64, path, STATFS64_SIZE, low_space());
	expect_path("STATFS", "file");
	IA32(IA32_FSTATFS, file.fd, low_space());
	expect_fd("STATFS", &file);
	IA32(IA32_FSTATFS64, file.fd, STATFS64_SIZE, low_space());
	expect_fd("STATFS", &file);
	IA32(IA32_USTAT, makedev(0, 0), low_space());
	expect("STATFS");
	row_empty("filename");
}

static void xattr_paths(void)
{
	long file = low_text("file"), name = low_text("user.one"), value = low_text("12345");

	IA32(IA32_SETXATTR, file, name, value, 5, XATTR_CREATE);
	expect_path("SETXATTR", "file");
	row_number("size", 5);
	row_text("flags", "XATTR_CREATE");
	IA32(IA32_LSETXATTR, file, name, value, 4, 0);
	expect_path("SETXATTR", "file");
	row_number("size", 4);
	IA32(IA32_GETXATTR, file, name, low_space(), 50);
	expect_path("GETXATTR", "file");
	row_number("size", 50);
	IA32(IA32_LGETXATTR, file, low_text("user.none"), low_space(), 60);
	expect_path("GETXATTR", "file");
	row_number("size", 60);
	IA32(IA32_LISTXATTR, file, low_space(), 70);
	expect_path("LISTXATTR", "file");
	row_number("size", 70);
	IA32(IA32_LLISTXATTR, file, 0, 0);
	expect_path("LISTXATTR", "file");
	row_number("size", 0);
	IA32(IA32_REMOVEXATTR, file, name);
	expect_path("REMOVEXATTR", "file");
	IA32(IA32_LREMOVEXATTR, file, name);
	expect_path("REMOVEXATTR", "file");
}

static void xattr_descriptors(const struct file *file)
{
	long name = low_text("user.there");

	IA32(IA32_FSETXATTR, file->fd, name, low_text("123"), 3, XATTR_REPLACE);
	expect_fd("SETXATTR", file);
	row_number("size", 3);
	row_text("flags", "XATTR_REPLACE");
	IA32(IA32_FGETXATTR, file->fd, name, low_space(), 30);
	expect_fd("GETXATTR", file);
	row_number("size", 30);
	IA32(IA32_FLISTXATTR, file->fd, low_space(), 40);
	expect_fd("LISTXATTR", file);
	row_number("size", 40);
	IA32(IA32_FREMOVEXATTR, file->fd, name);
	expect_fd("REMOVEXATTR", file);
}

/* The calls of Linux 6.13. */
static void xattr_at(int dir)
{
	long file = low_text("file");

	IA32(IA32_LISTXATTRAT, dir, file, AT_SYMLINK_NOFOLLOW, low_space(), 70);
	expect_path("LISTXATTR", "file");
	if (last.ret == -ENOSYS) {
		row_skip("size");
		row_optional();
		return note_missing("32-bit listxattrat");
	}
	row_number("size", 70);
	row_text("flags", "AT_SYMLINK_NOFOLLOW");
	IA32(IA32_REMOVEXATTRAT, dir, file, 0, low_text("user.none"));
	expect_path("REMOVEXATTR", "file");
	IA32(IA32_SETXATTRAT, dir, file, 0, low_text("user.at"), 0, 0); /* no arguments are there */
	expect_path("SETXATTR", "file");
	row_empty("size");
	IA32(IA32_GETXATTRAT, dir, file, 0, low_text("user.at"), 0, 0);
	expect_path("GETXATTR", "file");
	row_empty("size");
}

static void run_xattr(void)
{
	struct file file = file_make("file", O_RDONLY, 10);

	if (setxattr("file", "user.there", "before", 6, 0))
		return note_missing("extended attributes on this file system");
	if (!narrow())
		return;
	xattr_paths();
	xattr_descriptors(&file);
	xattr_at(open(".", O_RDONLY | O_DIRECTORY));
}

static void run_hints(void)
{
	struct file file = file_make("file", O_RDONLY, 65536), other = file_of(open("file", O_RDONLY));

	if (!narrow())
		return;
	/* Offsets and sizes are two arguments, the low half first. */
	IA32(IA32_FADVISE64, file.fd, 8192, 1, 4096, POSIX_FADV_WILLNEED);
	expect_fd("FADVISE", &file);
	row_text("flags", "POSIX_FADV_WILLNEED");
	row_io(4096, 8192 + (1LL << 32));
	IA32(IA32_FADVISE64_64, file.fd, 100, 2, 200, 3, POSIX_FADV_DONTNEED);
	expect_fd("FADVISE", &file);
	row_text("flags", "POSIX_FADV_DONTNEED");
	row_io(200 + (3LL << 32), 100 + (2LL << 32));
	IA32(IA32_READAHEAD, file.fd, 4096, 0, 8192);
	expect_fd("READAHEAD", &file);
	row_io(8192, 4096);
	IA32(IA32_FLOCK, file.fd, LOCK_EX);
	expect_fd("FLOCK", &file);
	row_text("flags", "LOCK_EX");
	IA32(IA32_FLOCK, other.fd, LOCK_SH | LOCK_NB);
	expect_fd("FLOCK", &other);
	row_text("flags", "LOCK_SH|LOCK_NB");
}

static void expect_lock(const struct file *file, const char *flags, long long start, long long length)
{
	expect_fd("LOCK", file);
	row_text("flags", flags);
	row_io(length, start);
}

/* The two structs of the 32-bit ABI, and its numbers of commands that have the wide one. */
static void run_locks(void)
{
	struct file file = file_make("file", O_RDWR, 65536), other = file_of(open("file", O_RDWR));
	struct __attribute__((packed)) { short type, whence; int start, length, pid; } *narrow_lock;
	struct __attribute__((packed)) { short type, whence; long long start, length; int pid; } *wide_lock;

	if (!narrow())
		return;
	narrow_lock = (void *)low_space();
	wide_lock = (void *)low_space();
	*narrow_lock = (typeof(*narrow_lock)){ F_WRLCK, SEEK_END, -36, 20, 0 };
	IA32(IA32_FCNTL, file.fd, F_SETLK, narrow_lock);
	expect_lock(&file, "F_SETLK|F_WRLCK", 65500, 20);
	IA32(IA32_FCNTL64, file.fd, F_SETLKW, narrow_lock);
	expect_lock(&file, "F_SETLKW|F_WRLCK", 65500, 20);
	*wide_lock = (typeof(*wide_lock)){ F_RDLCK, SEEK_SET, 5LL << 32, 6LL << 32, 0 };
	IA32(IA32_FCNTL64, file.fd, 13, wide_lock); /* F_SETLK64 */
	expect_lock(&file, "F_SETLK|F_RDLCK", 5LL << 32, 6LL << 32);
	IA32(IA32_FCNTL64, file.fd, 14, wide_lock);
	expect_lock(&file, "F_SETLKW|F_RDLCK", 5LL << 32, 6LL << 32);
	IA32(IA32_FCNTL64, other.fd, F_OFD_SETLK, wide_lock);
	expect_lock(&other, "F_OFD_SETLK|F_RDLCK", 5LL << 32, 6LL << 32);
	wide_lock->type = F_WRLCK;
	IA32(IA32_FCNTL64, other.fd, 12, wide_lock);
	expect_lock(&other, "F_GETLK|F_WRLCK", 5LL << 32, 6LL << 32);
	IA32(IA32_FCNTL, file.fd, F_GETFL);
}

static void expect_mount(const char *source, const char *target, const char *flags)
{
	row_mount(source, target, flags);
	row_level("tracepoint");
}

static void run_mounts(void)
{
	char from[2 * PATH_MAX];
	long to;

	mkdir("from", 0755);
	mkdir("to", 0755);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return note_missing("mount namespaces");
	if (!narrow())
		return;
	to = low_text("to");
	IA32(IA32_MOUNT, low_text("some tmpfs"), to, low_text("tmpfs"), MS_NOSUID, 0);
	expect_mount("some tmpfs", "to", "MS_NOSUID");
	IA32(IA32_MOVE_MOUNT, AT_FDCWD, to, AT_FDCWD, low_text("from"), 0);
	expect_mount(absolute(from, "to"), "from", "0");
	IA32(IA32_PIVOT_ROOT, to, low_text("from"));
	expect("MOUNT");
	row_pair("to", "from");
	IA32(IA32_UMOUNT, low_text("from"), MNT_DETACH);
	expect_path("UMOUNT", "from");
	row_text("flags", "MNT_DETACH");
	IA32(IA32_OLDUMOUNT, to);
	expect_path("UMOUNT", "to");
}
#else
static void run_ia32(void)
{
	note_missing("32-bit system calls");
}

#define run_asks   run_ia32
#define run_statfs run_ia32
#define run_xattr  run_ia32
#define run_hints  run_ia32
#define run_locks  run_ia32
#define run_mounts run_ia32
#endif

const struct trigger ia32_triggers[] = {
	{ .name = "ia32", .operations = "WRITE,READ,OPEN,CLOSE,MKDIR", .run = run_ia32 },
	{ .name = "ia32_asks", .operations = "ACCESS,READLINK,MKNOD", .run = run_asks },
	{ .name = "ia32_statfs", .operations = "STATFS", .run = run_statfs },
	{ .name = "ia32_xattr", .operations = "GETXATTR,SETXATTR,LISTXATTR,REMOVEXATTR", .run = run_xattr },
	{ .name = "ia32_hints", .operations = "FADVISE,READAHEAD,FLOCK", .run = run_hints },
	{ .name = "ia32_locks", .operations = "LOCK", .run = run_locks },
	{ .name = "ia32_mounts", .operations = "MOUNT,UMOUNT", .run = run_mounts },
	{ 0 },
};
