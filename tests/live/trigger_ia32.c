// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls by 32-bit numbers: right rows or none, never those of another call. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __x86_64__
enum { IA32_READ = 3, IA32_WRITE = 4, IA32_OPEN = 5, IA32_CLOSE = 6, IA32_MKDIR = 39 };

static long ia32(long nr, long a, long b, long c)
{
	long ret;

	window_begin();
	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(nr), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	window_end((int)ret);
	return last.ret;
}

/* Descriptors, paths and buffers must lie below 4 GiB. */
static char *low_memory(void)
{
	void *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
			-1, 0);

	if (at == MAP_FAILED)
		die("MAP_32BIT");
	return at;
}

static void expect(const char *operation, const struct file *file, long long size)
{
	row(operation);
	row_optional();
	row_text("filename", file->path);
	row_number("inode", (long long)file->inode);
	if (size)
		row_number("size", size);
}

static void run_ia32(void)
{
	char *low = low_memory();
	struct file file = file_make("file", O_RDWR, 100);

	if (ia32(IA32_WRITE, file.fd, (long)low, 30) == -ENOSYS)
		return note_missing("32-bit system calls");
	expect("WRITE", &file, 30);
	ia32(IA32_READ, file.fd, (long)low, 20);
	expect("READ", &file, 20);
	strcpy(low, "file");
	file = file_of((int)ia32(IA32_OPEN, (long)low, O_RDONLY, 0));
	expect("OPEN", &file, 0);
	ia32(IA32_CLOSE, file.fd, 0, 0);
	expect("CLOSE", &file, 0);
	strcpy(low, "dir");
	ia32(IA32_MKDIR, (long)low, 0755, 0);
	row("MKDIR");
	row_optional();
	row_path("dir");
}
#else
static void run_ia32(void)
{
	note_missing("32-bit system calls");
}
#endif

const struct trigger ia32_triggers[] = {
	{ .name = "ia32", .operations = "WRITE,READ,OPEN,CLOSE,MKDIR", .run = run_ia32 },
	{ 0 },
};
