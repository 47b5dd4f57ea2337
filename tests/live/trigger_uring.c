// SPDX-License-Identifier: GPL-2.0-or-later
/* io_uring through its bare system calls: one row for each request. */
#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { BLOCK = 4096, LENGTH = 16 * BLOCK, ENTRIES = 8 };

static char space[LENGTH] __attribute__((aligned(BLOCK)));

static struct {
	int fd;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	unsigned int *sq_tail, *sq_array, *cq_head, *cq_tail;
	unsigned int sq_mask, cq_mask;
} ring;

static void *ring_map(size_t length, off_t offset)
{
	void *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd,
			offset);

	if (at == MAP_FAILED)
		die("mapping a ring");
	return at;
}

static bool setup(void)
{
	struct io_uring_params params = { 0 };
	char *sq, *cq;

	ring.fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &params);
	if (ring.fd < 0) {
		note_missing("io_uring");
		return false;
	}
	sq = ring_map(params.sq_off.array + params.sq_entries * sizeof(unsigned int),
		      IORING_OFF_SQ_RING);
	cq = ring_map(params.cq_off.cqes + params.cq_entries * sizeof(*ring.cqes),
		      IORING_OFF_CQ_RING);
	ring.sqes = ring_map(params.sq_entries * sizeof(*ring.sqes), IORING_OFF_SQES);
	ring.sq_tail = (unsigned int *)(sq + params.sq_off.tail);
	ring.sq_array = (unsigned int *)(sq + params.sq_off.array);
	ring.sq_mask = *(unsigned int *)(sq + params.sq_off.ring_mask);
	ring.cq_head = (unsigned int *)(cq + params.cq_off.head);
	ring.cq_tail = (unsigned int *)(cq + params.cq_off.tail);
	ring.cq_mask = *(unsigned int *)(cq + params.cq_off.ring_mask);
	ring.cqes = (struct io_uring_cqe *)(cq + params.cq_off.cqes);
	return true;
}

static void push(const struct io_uring_sqe *sqe)
{
	unsigned int tail = *ring.sq_tail, index = tail & ring.sq_mask;

	ring.sqes[index] = *sqe;
	ring.sq_array[index] = index;
	__atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
}

/* Results by user_data. */
static void enter(unsigned int count, long *results)
{
	unsigned int submitted = count;

	window_begin();
	for (unsigned int seen = 0; seen < count;) {
		unsigned int head = *ring.cq_head;
		long ret = syscall(SYS_io_uring_enter, ring.fd, submitted, 1,
				   IORING_ENTER_GETEVENTS, NULL, 0);

		if (ret < 0 && errno != EINTR)
			die("io_uring_enter");
		submitted -= ret > 0 ? (unsigned int)ret : 0;
		for (; head != __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE); head++, seen++) {
			const struct io_uring_cqe *cqe = &ring.cqes[head & ring.cq_mask];

			results[cqe->user_data] = cqe->res;
		}
		__atomic_store_n(ring.cq_head, head, __ATOMIC_RELEASE);
	}
	window_end(0);
}

static long one(const struct io_uring_sqe *sqe)
{
	long result = 0;

	push(sqe);
	enter(1, &result);
	return result;
}

static struct io_uring_sqe prepare(int opcode, int fd, const void *at, size_t length,
				   long long offset)
{
	return (struct io_uring_sqe){
		.opcode = (unsigned char)opcode,
		.fd = fd,
		.addr = (unsigned long)at,
		.len = (unsigned int)length,
		.off = (unsigned long long)offset,
	};
}

static void vectored(const struct file *file)
{
	struct iovec parts[2] = { { space, 300 }, { space + BLOCK, 500 } };
	struct io_uring_sqe sqe = prepare(IORING_OP_READV, file->fd, parts, 2, 2 * BLOCK);

	row_transfer("READ", file, one(&sqe), 800, 2 * BLOCK);
	sqe = prepare(IORING_OP_WRITEV, file->fd, parts, 2, 3 * BLOCK);
	row_transfer("WRITE", file, one(&sqe), 800, 3 * BLOCK);
}

static void registered(const struct file *file)
{
	struct iovec whole = { space, sizeof(space) };
	struct io_uring_sqe sqe = prepare(IORING_OP_READ_FIXED, file->fd, space, 700, 4 * BLOCK);
	int fd = file->fd;

	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, &whole, 1))
		return note_missing("registered buffers");
	row_transfer("READ", file, one(&sqe), 700, 4 * BLOCK);
	sqe = prepare(IORING_OP_WRITE_FIXED, file->fd, space, 600, 5 * BLOCK);
	row_transfer("WRITE", file, one(&sqe), 600, 5 * BLOCK);
	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_FILES, &fd, 1))
		return note_missing("registered files");
	sqe = prepare(IORING_OP_READ, 0, space, 400, 6 * BLOCK);
	sqe.flags = IOSQE_FIXED_FILE;
	row_transfer("READ", file, one(&sqe), 400, 6 * BLOCK);
	row_skip("fd");
	sqe.flags = IOSQE_FIXED_FILE | IOSQE_ASYNC; /* by a worker, and known by no descriptor any more */
	close(file->fd);
	row_transfer("READ", file, one(&sqe), 400, 6 * BLOCK);
	row_skip("fd");
}

/* Where it went is not known on kernels whose completions do not tell their request: those before 6.0. */
static void row_appended(void)
{
	struct utsname host;

	if (uname(&host) == 0 && atoi(host.release) < 6)
		row_skip("offset");
}

static void run_append(void)
{
	struct file file = file_make("file", O_WRONLY | O_APPEND, 300);
	struct io_uring_sqe sqe;

	if (!setup())
		return;
	sqe = prepare(IORING_OP_WRITE, file.fd, space, 50, 20);
	row_transfer("WRITE", &file, one(&sqe), 50, 300);
	row_appended();
	sqe = prepare(IORING_OP_WRITE, file.fd, space, 60, -1);
	row_transfer("WRITE", &file, one(&sqe), 60, 350);
	row_appended();
}

static void run_single(void)
{
	struct file file = file_make("file", O_RDWR, LENGTH);
	struct io_uring_sqe sqe;

	if (!setup())
		return;
	sqe = prepare(IORING_OP_READ, file.fd, space, 1000, 100);
	row_transfer("READ", &file, one(&sqe), 1000, 100);
	sqe = prepare(IORING_OP_WRITE, file.fd, space, 2000, BLOCK);
	row_transfer("WRITE", &file, one(&sqe), 2000, BLOCK);
	vectored(&file);
	sqe = prepare(IORING_OP_FSYNC, file.fd, NULL, 0, 0);
	row_transfer("FSYNC", &file, one(&sqe), -1, -1);
	sqe = prepare(IORING_OP_FSYNC, file.fd, NULL, 0, 0);
	sqe.fsync_flags = IORING_FSYNC_DATASYNC;
	row_transfer("FDATASYNC", &file, one(&sqe), -1, -1);
	registered(&file);
}

/* Many at once, direct, and one that workers of the kernel carry out. */
static void run_batch(void)
{
	struct file file;
	struct io_uring_sqe sqe;
	long results[ENTRIES];

	if (!direct_works() || !setup())
		return;
	file = file_make("file", O_RDWR | O_DIRECT, LENGTH);
	for (int i = 0; i < ENTRIES; i++) {
		sqe = prepare(i % 2 ? IORING_OP_WRITE : IORING_OP_READ, file.fd, space, BLOCK,
			      i * BLOCK);
		sqe.user_data = (unsigned long long)i;
		sqe.flags = i == 0 ? IOSQE_ASYNC : 0;
		push(&sqe);
	}
	enter(ENTRIES, results);
	for (int i = 0; i < ENTRIES; i++) {
		row_transfer(i % 2 ? "DIO_WRITE" : "DIO_READ", &file, results[i], BLOCK, i * BLOCK);
		row_address(space);
	}
}

/* Of a request that the kernel refuses as it takes it, rows tell what was asked for all the same. */
static void refused(const struct file *file)
{
	struct io_uring_sqe sqe = prepare(IORING_OP_FSYNC, file->fd, NULL, 0, 0);

	sqe.fsync_flags = 1u << 31;
	row_transfer("FSYNC", file, one(&sqe), -1, -1);
	sqe.fsync_flags |= IORING_FSYNC_DATASYNC;
	row_transfer("FDATASYNC", file, one(&sqe), -1, -1);
	sqe = prepare(IORING_OP_FALLOCATE, file->fd, (void *)(2 * BLOCK), 1, BLOCK); /* the length is in addr */
	sqe.buf_index = 1;
	row_transfer("FALLOCATE", file, one(&sqe), 2 * BLOCK, BLOCK);
	row_empty("bytes_completed");
	row_skip("flags");
	sqe = prepare(IORING_OP_WRITE, file->fd, space, 600, 5 * BLOCK);
	sqe.ioprio = 7 << 13; /* no such class */
	row_transfer("WRITE", file, one(&sqe), 600, 5 * BLOCK);
	sqe = prepare(IORING_OP_FSYNC, INT_MAX, NULL, 0, 0);
	one(&sqe);
	row("FSYNC");
	row_number("fd", INT_MAX);
	row_result(-EBADF);
}

/* Its fellows in a chain are cancelled. */
static void refused_in_chain(const struct file *file)
{
	struct io_uring_sqe sqe = prepare(IORING_OP_READ, file->fd, space, 300, BLOCK);
	long results[3];

	for (unsigned int i = 0; i < 3; i++) {
		if (i == 1)
			sqe = prepare(IORING_OP_FSYNC, file->fd, NULL, 1, 0);
		if (i == 2)
			sqe = prepare(IORING_OP_READ, file->fd, space, 400, 2 * BLOCK);
		sqe.fsync_flags = i == 1 ? 1u << 31 : 0;
		sqe.flags = i < 2 ? IOSQE_IO_LINK : 0;
		sqe.user_data = i;
		push(&sqe);
	}
	enter(3, results);
	row_transfer("READ", file, results[0], 300, BLOCK);
	row_transfer("FSYNC", file, results[1], -1, -1);
	row_transfer("READ", file, results[2], 400, 2 * BLOCK);
}

static void run_refused(void)
{
	struct file file = file_make("file", O_RDWR, LENGTH);

	if (!setup())
		return;
	refused(&file);
	refused_in_chain(&file);
}

const struct trigger uring_triggers[] = {
	{ .name = "io_uring", .operations = "READ,WRITE,FSYNC,FDATASYNC", .run = run_single },
	{ .name = "io_uring_append", .operations = "WRITE", .run = run_append },
	{ .name = "io_uring_refused", .operations = "FSYNC,FDATASYNC,FALLOCATE,READ,WRITE", .run = run_refused },
	{ .name = "io_uring_batch", .operations = "DIO_READ,DIO_WRITE", .run = run_batch },
	{ 0 },
};
