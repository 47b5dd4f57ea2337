// SPDX-License-Identifier: GPL-2.0-or-later
/* libaio: a row for each control block, with the result that came back for it. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BLOCK = 4096, LENGTH = 16 * BLOCK, BATCH = 8 };

static char space[LENGTH] __attribute__((aligned(BLOCK)));
static io_context_t context;
static struct io_event events[BATCH];

static bool setup(void)
{
	if (!io_setup(BATCH, &context))
		return true;
	note_missing("libaio");
	return false;
}

/* Submits all at once and waits for all; results[i] belongs to blocks[i]. */
static void submit(struct iocb **blocks, long count, long *results)
{
	long done = 0;

	window_begin();
	if (io_submit(context, count, blocks) != count)
		die("io_submit");
	while (done < count) {
		int got = io_getevents(context, 1, count - done, events, NULL);

		if (got < 0 && got != -EINTR)
			die("io_getevents");
		for (int i = 0; i < got; i++)
			results[events[i].obj - *blocks] = (long)events[i].res;
		done += got > 0 ? got : 0;
	}
	window_end(0);
}

static void run_buffered(void)
{
	struct file file = file_make("file", O_RDWR, LENGTH);
	struct iovec parts[2] = { { space, 300 }, { space + BLOCK, 500 } };
	struct iocb blocks[4], *list[4] = { &blocks[0], &blocks[1], &blocks[2], &blocks[3] };
	long results[4];

	if (!setup())
		return;
	io_prep_pread(&blocks[0], file.fd, space, 1000, 100);
	io_prep_pwrite(&blocks[1], file.fd, space, 2000, 3 * BLOCK);
	io_prep_preadv(&blocks[2], file.fd, parts, 2, BLOCK);
	io_prep_pread(&blocks[3], file.fd, space, 1000, LENGTH - 10);
	submit(list, 4, results);
	row_transfer("READ", &file, results[0], 1000, 100);
	row_transfer("WRITE", &file, results[1], 2000, 3 * BLOCK);
	row_transfer("READ", &file, results[2], 800, BLOCK);
	row_transfer("READ", &file, results[3], 1000, LENGTH - 10);
	io_prep_fsync(&blocks[0], file.fd);
	submit(list, 1, results);
	row_transfer("FSYNC", &file, results[0], -1, -1);
	io_prep_fdsync(&blocks[0], file.fd);
	submit(list, 1, results);
	row_transfer("FDATASYNC", &file, results[0], -1, -1);
}

/* Where these go nobody tells. */
static void run_append(void)
{
	struct file file = file_make("file", O_WRONLY | O_APPEND, 300);
	struct iocb block, *list[1] = { &block };
	long result;

	if (!setup())
		return;
	io_prep_pwrite(&block, file.fd, space, 50, 20);
	submit(list, 1, &result);
	row_transfer("WRITE", &file, result, 50, -1);
}

static void expect_direct(const char *operation, const struct file *file, long result, long long offset, const void *buffer)
{
	row_transfer(operation, file, result, BLOCK, offset);
	row_address(buffer);
}

static void run_direct(void)
{
	struct iovec odd = { space + 8, BLOCK };
	struct file file;
	struct iocb blocks[BATCH], *list[BATCH];
	long results[BATCH];

	if (!direct_works() || !setup())
		return;
	file = file_make("file", O_RDWR | O_DIRECT, LENGTH);
	for (int i = 0; i < BATCH; i++) {
		list[i] = &blocks[i];
		if (i == BATCH - 1)
			io_prep_pwritev(&blocks[i], file.fd, &odd, 1, i * BLOCK);
		else if (i % 2)
			io_prep_pwrite(&blocks[i], file.fd, space, BLOCK, i * BLOCK);
		else
			io_prep_pread(&blocks[i], file.fd, space, BLOCK, i * BLOCK);
	}
	submit(list, BATCH, results);
	for (int i = 0; i < BATCH; i++)
		expect_direct(i % 2 ? "DIO_WRITE" : "DIO_READ", &file, results[i], i * BLOCK, i == BATCH - 1 ? space + 8 : space);
}

const struct trigger async_triggers[] = {
	{ .name = "libaio", .operations = "READ,WRITE,FSYNC,FDATASYNC", .run = run_buffered },
	{ .name = "libaio_append", .operations = "WRITE", .run = run_append },
	{ .name = "libaio_direct", .operations = "DIO_READ,DIO_WRITE", .run = run_direct },
	{ 0 },
};
