// SPDX-License-Identifier: GPL-2.0-or-later
/* READ, WRITE and their direct sisters: every call of both families. */
#include "trigger.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BLOCK = 4096, LENGTH = 16 * BLOCK };

static char space[LENGTH] __attribute__((aligned(BLOCK)));

/* Two parts, of sizes that tell them apart. */
static struct iovec vector[2];

static void vector_fill(size_t first, size_t second)
{
	vector[0] = (struct iovec){ space, first };
	vector[1] = (struct iovec){ space + 2 * BLOCK, second };
}

static void expect(const char *operation, const struct file *file, long long size, long long offset)
{
	row(operation);
	row_file(file);
	row_io(size, offset);
	row_address(!strncmp(operation, "DIO_", 4) ? space : NULL);
}

static void flags_with(const struct file *file, const char *more)
{
	char flags[sizeof(file->flags) + 64];

	strcpy(flags, file->flags);
	strcat(flags, "|");
	strcat(flags, more);
	row_text("flags", flags);
}

static void read_family(const char *operation, int flags, size_t unit)
{
	struct file file = file_make("input", O_RDONLY | flags, LENGTH);
	long long at = 0;

	SYS(SYS_read, file.fd, space, unit);
	expect(operation, &file, (long long)unit, at);
	at += last.ret;
	SYS(SYS_pread64, file.fd, space, unit, 2 * BLOCK);
	expect(operation, &file, (long long)unit, 2 * BLOCK);
	vector_fill(unit, 2 * unit);
	SYS(SYS_readv, file.fd, vector, 2);
	expect(operation, &file, (long long)(3 * unit), at);
	SYS(SYS_preadv, file.fd, vector, 2, 4 * BLOCK, 0);
	expect(operation, &file, (long long)(3 * unit), 4 * BLOCK);
	SYS(SYS_preadv2, file.fd, vector, 2, 5 * BLOCK, 0, RWF_HIPRI);
	expect(operation, &file, (long long)(3 * unit), 5 * BLOCK);
	flags_with(&file, "RWF_HIPRI");
	SYS(SYS_preadv2, file.fd, vector, 1, -1L, -1L, 0);
	expect(operation, &file, (long long)unit, at + 3 * (long long)unit);
}

static void write_family(const char *operation, int flags, size_t unit)
{
	struct file file = file_make("output", O_WRONLY | flags, LENGTH);
	long long at = 0;

	SYS(SYS_write, file.fd, space, unit);
	expect(operation, &file, (long long)unit, at);
	at += last.ret;
	SYS(SYS_pwrite64, file.fd, space, unit, 2 * BLOCK);
	expect(operation, &file, (long long)unit, 2 * BLOCK);
	vector_fill(unit, 2 * unit);
	SYS(SYS_writev, file.fd, vector, 2);
	expect(operation, &file, (long long)(3 * unit), at);
	SYS(SYS_pwritev, file.fd, vector, 2, 4 * BLOCK, 0);
	expect(operation, &file, (long long)(3 * unit), 4 * BLOCK);
	SYS(SYS_pwritev2, file.fd, vector, 2, 8 * BLOCK, 0, RWF_DSYNC);
	expect(operation, &file, (long long)(3 * unit), 8 * BLOCK);
	flags_with(&file, "RWF_DSYNC");
	SYS(SYS_pwritev2, file.fd, vector, 1, -1L, -1L, 0);
	expect(operation, &file, (long long)unit, at + 3 * (long long)unit);
}

static void run_read(void)
{
	read_family("READ", 0, 100);
}

static void run_write(void)
{
	write_family("WRITE", 0, 100);
}

static void run_dio_read(void)
{
	if (direct_works())
		read_family("DIO_READ", O_DIRECT, BLOCK);
}

static void run_dio_write(void)
{
	if (direct_works())
		write_family("DIO_WRITE", O_DIRECT, BLOCK);
}

/* Which of length, offset and buffer is not aligned is seen in the row of what fails for it. */
static void run_dio_odd(void)
{
	struct file file;

	if (!direct_works())
		return;
	file = file_make("odd", O_RDWR | O_DIRECT, LENGTH);
	SYS(SYS_pwrite64, file.fd, space + 1, BLOCK, BLOCK);
	row("DIO_WRITE");
	row_address(space + 1);
	row_io(BLOCK, BLOCK);
	SYS(SYS_pread64, file.fd, space + 3, BLOCK, 0);
	row("DIO_READ");
	row_address(space + 3);
	SYS(SYS_read, file.fd, space, BLOCK - 1);
	row("DIO_READ");
	row_address(space);
	vector[0] = (struct iovec){ space + 5, BLOCK };
	SYS(SYS_preadv2, file.fd, vector, 1, 0, 0, 0);
	row("DIO_READ");
	row_address(space + 5);
	SYS(SYS_readv, file.fd, vector, 0);
	row("DIO_READ");
	row_address(NULL);
	SYS(SYS_pwrite64, file.fd, 16, BLOCK, 0); /* no memory at all */
	row("DIO_WRITE");
	row_address((void *)16);
}

/* A short read at the end, one beyond it, one of nothing. */
static void run_read_end(void)
{
	struct file file = file_make("input", O_RDWR, LENGTH);

	SYS(SYS_pread64, file.fd, space, 1000, LENGTH - 10);
	expect("READ", &file, 1000, LENGTH - 10);
	SYS(SYS_pread64, file.fd, space, 1000, LENGTH + 10);
	expect("READ", &file, 1000, LENGTH + 10);
	SYS(SYS_read, file.fd, space, 0);
	expect("READ", &file, 0, 0);
	SYS(SYS_write, file.fd, space, 0);
	expect("WRITE", &file, 0, 0);
}

/* Where an appending write lands is not where its file position stood, nor what offset it was given. */
static void run_append(void)
{
	struct file file = file_make("log", O_WRONLY | O_APPEND, 300);
	struct file plain = file_make("plain", O_WRONLY, 700);

	SYS(SYS_write, file.fd, space, 50);
	expect("WRITE", &file, 50, 300);
	lseek(file.fd, 10, SEEK_SET);
	vector_fill(30, 40);
	SYS(SYS_writev, file.fd, vector, 2);
	expect("WRITE", &file, 70, 350);
	SYS(SYS_pwrite64, file.fd, space, 5, 20);
	expect("WRITE", &file, 5, 420);
	lseek(file.fd, 60, SEEK_SET);
	SYS(SYS_pwritev2, file.fd, vector, 1, -1L, -1L, RWF_DSYNC);
	expect("WRITE", &file, 30, 425);
	flags_with(&file, "RWF_DSYNC");
	SYS(SYS_write, file.fd, (void *)8, 50); /* nothing was written anywhere */
	expect("WRITE", &file, 50, -1);
	SYS(SYS_pwritev2, plain.fd, vector, 2, 20L, 0, RWF_APPEND);
	expect("WRITE", &plain, 70, 700);
	flags_with(&plain, "RWF_APPEND");
	SYS(SYS_pwritev2, plain.fd, vector, 2, -1L, -1L, RWF_APPEND);
	expect("WRITE", &plain, 70, 770);
	flags_with(&plain, "RWF_APPEND");
}

/* Far beyond 32 bits. */
static void run_far(void)
{
	struct file file = file_make("sparse", O_RDWR, 0);
	long long far = 5LL << 32;

	SYS(SYS_pwrite64, file.fd, space, 512, far);
	expect("WRITE", &file, 512, far);
	SYS(SYS_pread64, file.fd, space, 512, far);
	expect("READ", &file, 512, far);
}

static struct file early;

static void prepare_early(void)
{
	early = file_make("early", O_RDWR, LENGTH);
	lseek(early.fd, 300, SEEK_SET);
}

/* The file was open before the session began. */
static void run_early(void)
{
	if (!early.fd)
		prepare_early();
	SYS(SYS_read, early.fd, space, 100);
	expect("READ", &early, 100, 300);
	SYS(SYS_write, early.fd, space, 200);
	expect("WRITE", &early, 200, 400);
	SYS(SYS_fsync, early.fd);
	row("FSYNC");
	row_file(&early);
	SYS(SYS_close, early.fd);
	row("CLOSE");
	row_file(&early);
}

const struct trigger io_triggers[] = {
	{ .name = "read", .operations = "READ", .run = run_read },
	{ .name = "write", .operations = "WRITE", .run = run_write },
	{ .name = "dio_read", .operations = "DIO_READ", .run = run_dio_read },
	{ .name = "dio_write", .operations = "DIO_WRITE", .run = run_dio_write },
	{ .name = "dio_odd", .operations = "DIO_READ,DIO_WRITE", .run = run_dio_odd },
	{ .name = "read_end", .operations = "READ,WRITE", .run = run_read_end },
	{ .name = "append", .operations = "WRITE", .run = run_append },
	{ .name = "far", .operations = "READ,WRITE", .run = run_far },
	{ .name = "opened_before",
	  .operations = "READ,WRITE,FSYNC,CLOSE",
	  .run = run_early,
	  .prepare = prepare_early },
	{ 0 },
};
