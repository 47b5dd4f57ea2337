// SPDX-License-Identifier: GPL-2.0-or-later
/* Advice, locks, and calls that open, close or map files in other ways than by open, close and mmap. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_file_getattr
#define SYS_file_getattr 468
#define SYS_file_setattr 469
#endif

enum { LENGTH = 65536, OPEN_TREE = 1 };

static void expect_hint(const char *operation, const struct file *file, const char *flags)
{
	row(operation);
	row_file(file);
	row_text("flags", flags);
}

static void run_fadvise(void)
{
	struct file file = file_make("file", O_RDONLY, LENGTH);

	SYS(SYS_fadvise64, file.fd, 8192, 4096, POSIX_FADV_WILLNEED);
	expect_hint("FADVISE", &file, "POSIX_FADV_WILLNEED");
	row_io(4096, 8192);
	SYS(SYS_fadvise64, file.fd, 0, 0, POSIX_FADV_NORMAL);
	expect_hint("FADVISE", &file, "POSIX_FADV_NORMAL");
	row_io(0, 0);
	SYS(SYS_fadvise64, file.fd, 5LL << 32, 100, 77);
	expect_hint("FADVISE", &file, "0x4d");
	row_io(100, 5LL << 32);
}

static void run_readahead(void)
{
	struct file file = file_make("file", O_RDONLY, LENGTH);

	SYS(SYS_readahead, file.fd, 4096, 8192);
	row("READAHEAD");
	row_file(&file);
	row_io(8192, 4096);
	SYS(SYS_readahead, 999, 0, 100);
	row("READAHEAD");
	row_empty("filename");
	row_empty("flags");
	row_number("fd", 999);
	row_io(100, 0);
}

static void run_flock(void)
{
	struct file file = file_make("file", O_RDONLY, 10), other = file_of(open("file", O_RDONLY));

	SYS(SYS_flock, file.fd, LOCK_EX);
	expect_hint("FLOCK", &file, "LOCK_EX");
	SYS(SYS_flock, other.fd, LOCK_SH | LOCK_NB); /* the other one has it */
	expect_hint("FLOCK", &other, "LOCK_SH|LOCK_NB");
	SYS(SYS_flock, file.fd, LOCK_UN);
	expect_hint("FLOCK", &file, "LOCK_UN");
}

/* What is closed where another file is put. */
static void run_replaced(void)
{
	struct file file = file_make("file", O_RDONLY, 10), old = file_make("old", O_RDWR, 10);
	int fd = old.fd;

#ifdef SYS_dup2
	SYS(SYS_dup2, file.fd, fd);
	row("CLOSE");
	row_file(&old);
	SYS(SYS_dup2, fd, fd);	       /* closes nothing */
	SYS(SYS_dup2, file.fd, 900);   /* nothing was there */
	SYS(SYS_dup2, 950, fd);	       /* fails, before it closes anything */
#else
	dup2(file.fd, fd);
#endif
	file.fd = fd;
	SYS(SYS_dup3, open("old", O_RDONLY), fd, O_CLOEXEC);
	row("CLOSE");
	row_file(&file);
	SYS(SYS_dup3, fd, fd, 0);
}

static void expect_opened(const char *flags)
{
	struct file file;

	row("OPEN");
	if (last.ret >= 0) {
		file = file_of((int)last.ret);
		row_file(&file);
		close(file.fd);
	}
	row_text("flags", flags);
}

static void run_by_handle(void)
{
	static union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle = { .head.handle_bytes = MAX_HANDLE_SZ };
	int dir = open(".", O_RDONLY | O_DIRECTORY), mount;

	touch("file", 10);
	if (name_to_handle_at(AT_FDCWD, "file", &handle.head, &mount, 0))
		return note_missing("file handles on this file system");
	SYS(SYS_open_by_handle_at, dir, &handle, O_RDWR | O_NONBLOCK);
	if (last.ret == -EPERM) {
		row("OPEN");
		return;
	}
	expect_opened("O_RDWR|O_NONBLOCK");
	unlink("file");
	SYS(SYS_open_by_handle_at, dir, &handle, O_RDONLY);
	row("OPEN");
	row_empty("filename");
	row_empty("inode");
	row_text("flags", "O_RDONLY");
}

static void run_open_tree(void)
{
	mkdir("sub", 0755);
	SYS(SYS_open_tree, AT_FDCWD, "sub", AT_SYMLINK_NOFOLLOW | O_CLOEXEC);
	expect_opened("OPEN_TREE_CLOEXEC|AT_SYMLINK_NOFOLLOW");
	SYS(SYS_open_tree, AT_FDCWD, "missing", 0);
	row("OPEN");
	row_path("missing");
	row_text("flags", "0");
}

static void run_memfd(void)
{
	SYS(SYS_memfd_create, "some name", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	expect_opened("MFD_CLOEXEC|MFD_ALLOW_SEALING");
	row_text("fs_type", "tmpfs");
}

/* Whole files and parts that share their blocks from now on, or would on another file system. */
static void run_clone(void)
{
	struct file in = file_make("input", O_RDONLY, LENGTH), out = file_make("output", O_WRONLY, 0);
	struct file_clone_range range = { .src_fd = in.fd, .src_offset = 4096, .src_length = 8192 };

	SYS(SYS_ioctl, out.fd, FICLONE, in.fd);
	row("COPY_FILE_RANGE");
	row_text("filename", in.path);
	row_number("inode", (long long)in.inode);
	row_number("fd", in.fd);
	row_empty("size");
	row_number("offset", 0);
	row_empty("bytes_completed");
	SYS(SYS_ioctl, out.fd, FICLONERANGE, &range);
	row("COPY_FILE_RANGE");
	row_text("filename", in.path);
	row_number("fd", in.fd);
	row_io(8192, 4096);
	row_empty("bytes_completed");
	SYS(SYS_ioctl, in.fd, FIGETBSZ, &range); /* no row */
}

static void run_remap(void)
{
	struct file file = file_make("file", O_RDWR, LENGTH);
	char *at;

	SYS(SYS_mmap, NULL, LENGTH, PROT_READ, MAP_SHARED, file.fd, 0);
	row("MMAP");
	at = (char *)last.ret;
	SYS(SYS_remap_file_pages, at, 4096, 0, 3, 0);
	if (last.ret == -ENOSYS)
		return note_missing("remap_file_pages");
	row("MREMAP");
	row_text("filename", file.path);
	row_number("inode", (long long)file.inode);
	row_io(4096, 3 * 4096);
}

static void run_file_attr(void)
{
	char attributes[24];

	touch("file", 10);
	SYS(SYS_file_getattr, AT_FDCWD, "file", attributes, sizeof(attributes), 0);
	if (last.ret == -ENOSYS || last.ret == -EOPNOTSUPP) {
		row("GETATTR");
		row_optional();
		return note_missing("file_getattr");
	}
	row("GETATTR");
	row_path("file");
	row_text("flags", "0");
	SYS(SYS_file_setattr, AT_FDCWD, "file", attributes, sizeof(attributes), AT_SYMLINK_NOFOLLOW);
	row("SETATTR");
	row_path("file");
	row_text("flags", "AT_SYMLINK_NOFOLLOW");
}

/* A size that is the largest number is no unknown one. */
static void run_largest(void)
{
	struct file file = file_make("file", O_RDONLY, LENGTH);
	static char space[LENGTH];

	SYS(SYS_readahead, file.fd, 0, -1L);
	row("READAHEAD");
	row_file(&file);
	row_text("size", "-1");
	SYS(SYS_pread64, file.fd, space, 100, -1L);
	row("READ");
	row_file(&file);
	row_io(100, -1);
	SYS(SYS_preadv, file.fd, NULL, 5000, 0, 0); /* whose sum nobody can tell */
	row("READ");
	row_file(&file);
	row_empty("size");
}

static void lock(const struct file *file, int command, const char *flags, struct flock *range, long long start, long long length)
{
	SYS(SYS_fcntl, file->fd, command, range);
	row("LOCK");
	row_file(file);
	row_text("flags", flags);
	row_io(length, start);
}

/* Locks of ranges: by process and by open file, taken, waited for, asked for and given back. */
static void run_lock(void)
{
	struct file file = file_make("file", O_RDWR, LENGTH), other = file_of(open("file", O_RDWR));
	struct flock range = { .l_type = F_WRLCK, .l_start = 100, .l_len = 50 };

	lock(&file, F_SETLK, "F_SETLK|F_WRLCK", &range, 100, 50);
	range = (struct flock){ .l_type = F_RDLCK, .l_whence = SEEK_END, .l_start = -100 };
	lock(&file, F_SETLKW, "F_SETLKW|F_RDLCK", &range, LENGTH - 100, 0);
	lseek(file.fd, 1000, SEEK_SET);
	range = (struct flock){ .l_type = F_UNLCK, .l_whence = SEEK_CUR, .l_start = 24, .l_len = -20 };
	lock(&file, F_SETLK, "F_SETLK|F_UNLCK", &range, 1004, 20);
	range = (struct flock){ .l_type = F_WRLCK, .l_start = 5LL << 32, .l_len = 6LL << 32 };
	lock(&other, F_OFD_SETLK, "F_OFD_SETLK|F_WRLCK", &range, 5LL << 32, 6LL << 32);
	lock(&file, F_OFD_SETLK, "F_OFD_SETLK|F_WRLCK", &range, 5LL << 32, 6LL << 32); /* the other one has it */
	lock(&file, F_OFD_GETLK, "F_OFD_GETLK|F_WRLCK", &range, 5LL << 32, 6LL << 32);
	range = (struct flock){ .l_type = F_RDLCK };
	lock(&file, F_GETLK, "F_GETLK|F_RDLCK", &range, 0, 0);
	lock(&file, F_OFD_SETLKW, "F_OFD_SETLKW|F_RDLCK", &(struct flock){ .l_type = F_RDLCK, .l_len = 1 }, 0, 1);
	lock(&file, F_SETLK, "F_SETLK|0x4e0000", &(struct flock){ .l_type = 77 }, 0, 0);
	range = (struct flock){ .l_type = F_WRLCK, .l_start = 3, .l_len = 4 };
	SYS(SYS_fcntl, 999, F_SETLK, &range);
	row("LOCK");
	row_empty("filename");
	row_number("fd", 999);
	row_text("flags", "F_SETLK|F_WRLCK");
	row_io(4, 3);
	SYS(SYS_fcntl, file.fd, F_SETLK, NULL);
	row("LOCK");
	row_file(&file);
	row_text("flags", "F_SETLK");
	row_empty("size");
	row_empty("offset");
	SYS(SYS_fcntl, file.fd, F_GETFL); /* makes no row */
	SYS(SYS_fcntl, file.fd, F_SETLEASE, F_RDLCK);
}

/* A lock that another process has for a while: the wait is in the latency. */
static void run_lock_wait(void)
{
	struct file file = file_make("file", O_RDWR, LENGTH);
	struct flock range = { .l_type = F_WRLCK, .l_len = 10 };
	int locked[2];
	char byte;

	if (pipe(locked))
		die("pipe");
	if (!fork()) {
		fcntl(file.fd, F_SETLK, &range);
		if (write(locked[1], "", 1) != 1)
			die("write");
		usleep(100000);
		_exit(0);
	}
	if (read(locked[0], &byte, 1) != 1)
		die("read");
	lock(&file, F_SETLKW, "F_SETLKW|F_WRLCK", &range, 0, 10);
	row_number("latency_ns_least", 50000000);
}

const struct trigger hint_triggers[] = {
	{ .name = "fadvise", .operations = "FADVISE", .run = run_fadvise },
	{ .name = "readahead", .operations = "READAHEAD", .run = run_readahead },
	{ .name = "flock", .operations = "FLOCK", .run = run_flock },
	{ .name = "lock", .operations = "LOCK", .run = run_lock },
	{ .name = "lock_wait", .operations = "LOCK", .run = run_lock_wait },
	{ .name = "replaced", .operations = "CLOSE", .run = run_replaced },
	{ .name = "by_handle", .operations = "OPEN", .run = run_by_handle },
	{ .name = "open_tree", .operations = "OPEN", .run = run_open_tree },
	{ .name = "memfd", .operations = "OPEN", .run = run_memfd },
	{ .name = "clone", .operations = "COPY_FILE_RANGE", .run = run_clone },
	{ .name = "remap", .operations = "MREMAP", .run = run_remap },
	{ .name = "file_attr", .operations = "GETATTR,SETATTR", .run = run_file_attr },
	{ .name = "largest", .operations = "READAHEAD,READ", .run = run_largest },
	{ 0 },
};
