// SPDX-License-Identifier: GPL-2.0-or-later
/* Mappings: made, moved, advised, synchronised, undone. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef MADV_COLD
#define MADV_COLD 20
#endif

enum { PAGE = 4096, LENGTH = 8 * PAGE };

static void row_mapped(const struct file *file)
{
	row_text("filename", file->path);
	row_number("inode", (long long)file->inode);
	row_text("device", file->device);
}

static long map(const struct file *file, size_t length, long long offset)
{
	long at = SYS(SYS_mmap, NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, offset);

	if (at < 0 && at > -4096)
		die("mmap");
	row("MMAP");
	row_mapped(file);
	row_number("fd", file->fd);
	row_io((long long)length, offset);
	row_address((void *)at);
	row_text("mmap_prot", "PROT_READ|PROT_WRITE");
	row_text("mmap_flags", "MAP_SHARED");
	return at;
}

static void expect_mapped(const char *operation, const struct file *file, long address,
			  long long length)
{
	row(operation);
	row_mapped(file);
	row_address((void *)address);
	row_number("size", length);
}

static void run_mmap(void)
{
	struct file file = file_make("mapped", O_RDWR, LENGTH);
	long at;

	map(&file, LENGTH, 0);
	map(&file, 2 * PAGE, 3 * PAGE);
	at = SYS(SYS_mmap, NULL, 5 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	row("MMAP");
	row_empty("filename");
	row_empty("inode");
	row_number("size", 5 * PAGE);
	row_address((void *)at);
	row_text("mmap_prot", "PROT_NONE");
	row_text("mmap_flags", "MAP_PRIVATE|MAP_ANONYMOUS");
	at = SYS(SYS_mmap, at, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file.fd, PAGE);
	row("MMAP");
	row_mapped(&file);
	row_io(PAGE, PAGE);
	row_address((void *)at);
	row_text("mmap_prot", "PROT_READ");
	row_text("mmap_flags", "MAP_PRIVATE|MAP_FIXED");
	SYS(SYS_mmap, NULL, 0, PROT_READ, MAP_PRIVATE, file.fd, 0);
	row("MMAP");
	row_mapped(&file);
	row_number("size", 0);
}

static void run_munmap(void)
{
	struct file file = file_make("mapped", O_RDWR, LENGTH);
	long at = map(&file, LENGTH, 0);

	close(file.fd);
	SYS(SYS_munmap, at + 4 * PAGE, 4 * PAGE);
	expect_mapped("MUNMAP", &file, at + 4 * PAGE, 4 * PAGE);
	SYS(SYS_munmap, at, 4 * PAGE);
	expect_mapped("MUNMAP", &file, at, 4 * PAGE);
	SYS(SYS_munmap, at + 1, PAGE);
	row("MUNMAP");
	row_address((void *)(at + 1));
	row_number("size", PAGE);
}

static void run_mremap(void)
{
	struct file file = file_make("mapped", O_RDWR, LENGTH);
	long at = map(&file, 2 * PAGE, 0), next;

	next = SYS(SYS_mremap, at, 2 * PAGE, 6 * PAGE, MREMAP_MAYMOVE);
	expect_mapped("MREMAP", &file, at, 6 * PAGE);
	row_text("flags", "MREMAP_MAYMOVE");
	SYS(SYS_mremap, next, 6 * PAGE, PAGE, 0);
	row("MREMAP");
	row_address((void *)next);
	row_number("size", PAGE);
}

static void run_msync(void)
{
	struct file file = file_make("mapped", O_RDWR, LENGTH);
	long at = map(&file, LENGTH, 0);

	*(volatile char *)at = 1;
	SYS(SYS_msync, at, LENGTH, MS_SYNC);
	expect_mapped("MSYNC", &file, at, LENGTH);
	row_text("flags", "MS_SYNC");
	SYS(SYS_msync, at, PAGE, MS_ASYNC | MS_INVALIDATE);
	expect_mapped("MSYNC", &file, at, PAGE);
	row_text("flags", "MS_ASYNC|MS_INVALIDATE");
}

static void other_process(long at)
{
	struct iovec parts[2] = { { (void *)at, PAGE }, { (void *)(at + 2 * PAGE), 2 * PAGE } };
	long fd = syscall(SYS_pidfd_open, getpid(), 0);

	if (fd < 0)
		return note_missing("process_madvise: no pidfd_open");
	SYS(SYS_process_madvise, fd, parts, 2, MADV_COLD, 0);
	if (last.ret == -ENOSYS)
		return note_missing("process_madvise");
	row("MADVISE");
	row_number("size", 3 * PAGE);
	row_text("flags", "MADV_COLD");
}

static void run_madvise(void)
{
	struct file file = file_make("mapped", O_RDWR, LENGTH);
	long at = map(&file, LENGTH, 0);

	SYS(SYS_madvise, at, LENGTH, MADV_WILLNEED);
	expect_mapped("MADVISE", &file, at, LENGTH);
	row_text("flags", "MADV_WILLNEED");
	SYS(SYS_madvise, at, PAGE, MADV_DONTNEED);
	expect_mapped("MADVISE", &file, at, PAGE);
	row_text("flags", "MADV_DONTNEED");
	SYS(SYS_madvise, at, PAGE, MADV_NORMAL);
	expect_mapped("MADVISE", &file, at, PAGE);
	row_text("flags", "MADV_NORMAL");
	other_process(at);
}

const struct trigger map_triggers[] = {
	{ .name = "mmap", .operations = "MMAP", .run = run_mmap },
	{ .name = "munmap", .operations = "MUNMAP,MMAP", .run = run_munmap },
	{ .name = "mremap", .operations = "MREMAP,MMAP", .run = run_mremap },
	{ .name = "msync", .operations = "MSYNC,MMAP", .run = run_msync },
	{ .name = "madvise", .operations = "MADVISE,MMAP", .run = run_madvise },
	{ 0 },
};
