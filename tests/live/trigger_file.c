// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls on open files: open, close, synchronise, truncate, allocate, list. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect_open(const char *name, const char *flags)
{
	int fd = (int)last.ret;
	struct file file;

	row("OPEN");
	if (fd >= 0) {
		file = file_of(fd);
		row_file(&file);
	} else {
		row_path(name);
		row_empty("inode");
	}
	row_text("flags", flags);
	if (fd >= 0)
		close(fd);
}

static void open_at(int dir)
{
	struct open_how how = { .flags = O_RDWR | O_CREAT, .mode = 0600 };

	SYS(SYS_openat, dir, "sub/three", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	expect_open("sub/three", "O_WRONLY|O_CREAT|O_TRUNC");
	SYS(SYS_openat, AT_FDCWD, "sub/../sub/./three", O_RDONLY | O_NONBLOCK);
	expect_open("sub/three", "O_RDONLY|O_NONBLOCK");
	SYS(SYS_openat2, dir, "four", &how, sizeof(how));
	if (last.ret == -ENOSYS)
		return note_missing("openat2");
	expect_open("four", "O_RDWR|O_CREAT");
	SYS(SYS_openat, dir, "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	expect_open("sub", "O_RDONLY|O_DIRECTORY|O_CLOEXEC");
}

static void run_open(void)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY);

	mkdir("sub", 0755);
	touch("one", 100);
#ifdef SYS_open
	SYS(SYS_open, "one", O_RDWR);
	expect_open("one", "O_RDWR");
	SYS(SYS_creat, "two", 0644);
	expect_open("two", "O_WRONLY|O_CREAT|O_TRUNC");
	SYS(SYS_open, "missing", O_RDONLY);
	expect_open("missing", "O_RDONLY");
#endif
	open_at(dir);
	SYS(SYS_openat, dir, "sub/missing", O_RDONLY);
	expect_open("sub/missing", "O_RDONLY");
	SYS(SYS_openat, dir, "one", O_RDWR | O_CREAT | O_EXCL, 0644);
	row("OPEN");
	row_path("one");
	row_text("flags", "O_RDWR|O_CREAT|O_EXCL");
	SYS(SYS_openat, dir, "one/below", O_RDONLY);
	expect_open("one/below", "O_RDONLY");
}

static void run_close(void)
{
	struct file file = file_make("one", O_RDONLY, 100);
	int second = dup(file.fd);

	SYS(SYS_close, file.fd);
	row("CLOSE");
	row_file(&file);
	file = file_of(second);
	SYS(SYS_close, second);
	row("CLOSE");
	row_file(&file);
}

static void run_close_range(void)
{
	struct file file = file_make("one", O_RDONLY, 100);

	if (dup2(file.fd, 100) < 0 || dup2(file.fd, 101) < 0)
		die("dup2");
	SYS(SYS_close_range, 100, 110, 0);
	if (last.ret == -ENOSYS)
		return note_missing("close_range");
	row("CLOSE");
	row_number("fd", 100);
}

static void expect_file(const char *operation, const struct file *file)
{
	row(operation);
	row_file(file);
}

static void dirty(int fd)
{
	if (pwrite(fd, "changed", 7, 0) != 7)
		die("pwrite");
}

static void run_fsync(void)
{
	struct file file = file_make("one", O_RDWR, 10000);

	SYS(SYS_fsync, file.fd);
	expect_file("FSYNC", &file);
	SYS(SYS_fsync, file.fd);
	expect_file("FSYNC", &file);
}

static void run_fdatasync(void)
{
	struct file file = file_make("one", O_RDWR, 10000);

	SYS(SYS_fdatasync, file.fd);
	expect_file("FDATASYNC", &file);
	dirty(file.fd);
	SYS(SYS_fdatasync, file.fd);
	expect_file("FDATASYNC", &file);
}

static void run_sync(void)
{
	struct file file = file_make("one", O_RDWR, 10000);

	SYS(SYS_sync_file_range, file.fd, 4096, 5000, SYNC_FILE_RANGE_WRITE);
	expect_file("SYNC", &file);
	row_io(5000, 4096);
	row_text("flags", "SYNC_FILE_RANGE_WRITE");
	SYS(SYS_sync_file_range, file.fd, 0, 10000, 7);
	expect_file("SYNC", &file);
	row_io(10000, 0);
	row_text("flags", "SYNC_FILE_RANGE_WAIT_BEFORE|SYNC_FILE_RANGE_WRITE|"
			  "SYNC_FILE_RANGE_WAIT_AFTER");
	dirty(file.fd);
	SYS(SYS_syncfs, file.fd);
	row("SYNC");
	row_text("filename", file.path);
	row_number("fd", file.fd);
	row_empty("size");
	row_empty("offset");
}

/* Everything of the machine is written: apart, for it may take its time. */
static void run_sync_all(void)
{
	SYS(SYS_sync);
	row("SYNC");
	row_empty("filename");
	row_empty("inode");
	row_empty("fd");
	row_empty("size");
	row_empty("offset");
}

static void run_truncate(void)
{
	struct file file = file_make("one", O_RDWR, 10000);

	SYS(SYS_ftruncate, file.fd, 5000);
	row("TRUNCATE");
	row_text("filename", file.path);
	row_number("inode", (long long)file.inode);
	row_text("device", file.device);
	row_number("fd", file.fd);
	row_number("size", 5000);
	SYS(SYS_truncate, "one", 7000000000);
	row("TRUNCATE");
	row_path("one");
	row_object("one");
	row_number("size", 7000000000);
	SYS(SYS_truncate, "missing", 1);
	row("TRUNCATE");
	row_path("missing");
	row_number("size", 1);
}

static void fallocate_mode(const struct file *file, int mode, long long offset, long long length,
			   const char *flags)
{
	SYS(SYS_fallocate, file->fd, mode, offset, length);
	expect_file("FALLOCATE", file);
	row_io(length, offset);
	row_text("flags", flags);
}

static void run_fallocate(void)
{
	struct file file = file_make("one", O_RDWR, 100);

	SYS(SYS_fallocate, file.fd, 0, 4096, 65536);
	row("FALLOCATE");
	row_text("filename", file.path);
	row_number("inode", (long long)file.inode);
	row_io(65536, 4096);
	fallocate_mode(&file, FALLOC_FL_KEEP_SIZE, 1 << 20, 4096, "FALLOC_FL_KEEP_SIZE");
	fallocate_mode(&file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192, 4096,
		       "FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE");
	fallocate_mode(&file, FALLOC_FL_ZERO_RANGE, 0, 4096, "FALLOC_FL_ZERO_RANGE");
	fallocate_mode(&file, FALLOC_FL_COLLAPSE_RANGE, 4096, 4096, "FALLOC_FL_COLLAPSE_RANGE");
	fallocate_mode(&file, FALLOC_FL_INSERT_RANGE, 4096, 4096, "FALLOC_FL_INSERT_RANGE");
	fallocate_mode(&file, FALLOC_FL_UNSHARE_RANGE, 0, 4096, "FALLOC_FL_UNSHARE_RANGE");
}

static void list(const struct file *file, long nr)
{
	static char entries[32768];
	long long before = file_position(file->fd);

	SYS(nr, file->fd, entries, 1024);
	expect_file("READDIR", file);
	row_io(1024, before);
}

static void run_readdir(void)
{
	struct file file;

	mkdir("full", 0755);
	for (int i = 0; i < 40; i++) {
		char name[] = "full/entry-00";

		name[11] = (char)('0' + i / 10);
		name[12] = (char)('0' + i % 10);
		touch(name, 0);
	}
	file = file_of(open("full", O_RDONLY | O_DIRECTORY));
	list(&file, SYS_getdents64);
	list(&file, SYS_getdents64);
#ifdef SYS_getdents
	lseek(file.fd, 0, SEEK_SET);
	list(&file, SYS_getdents);
#endif
}

const struct trigger file_triggers[] = {
	{ .name = "open", .operations = "OPEN", .run = run_open },
	{ .name = "close", .operations = "CLOSE", .run = run_close },
	{ .name = "close_range", .operations = "CLOSE", .run = run_close_range },
	{ .name = "fsync", .operations = "FSYNC", .run = run_fsync },
	{ .name = "fdatasync", .operations = "FDATASYNC", .run = run_fdatasync },
	{ .name = "sync", .operations = "SYNC", .run = run_sync },
	{ .name = "sync_all", .operations = "SYNC", .run = run_sync_all },
	{ .name = "truncate", .operations = "TRUNCATE", .run = run_truncate },
	{ .name = "fallocate", .operations = "FALLOCATE", .run = run_fallocate },
	{ .name = "readdir", .operations = "READDIR", .run = run_readdir },
	{ 0 },
};
