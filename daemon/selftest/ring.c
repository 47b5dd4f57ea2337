// SPDX-License-Identifier: GPL-2.0-or-later
/* Some requests of io_uring, by its bare system calls, one at a time. */
#include "selftest/parts.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "selftest/note.h"

enum { ENTRIES = 1, PAGE = 4096 }; /* the mapped parts of so small a ring fit into a page */

struct ring {
	int fd;
	struct io_uring_sqe *entry;
	char *submission, *completion;
	struct io_uring_params params;
};

static void *map(const struct ring *ring, off_t offset)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd, offset);

	return at == MAP_FAILED ? NULL : at;
}

static bool ring_open(struct ring *ring)
{
	ring->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &ring->params);
	if (ring->fd < 0)
		return false;
	ring->submission = map(ring, IORING_OFF_SQ_RING);
	ring->completion = map(ring, IORING_OFF_CQ_RING);
	ring->entry = map(ring, IORING_OFF_SQES);
	return ring->submission && ring->completion && ring->entry;
}

static unsigned int *word(char *at, unsigned int offset)
{
	return (unsigned int *)(at + offset);
}

/* Whether the kernel took the request, and completed it with success. */
static bool request(struct ring *ring, const struct io_uring_sqe *entry)
{
	const struct io_sqring_offsets *sq = &ring->params.sq_off;
	const struct io_cqring_offsets *cq = &ring->params.cq_off;
	const struct io_uring_cqe *cqes = (const void *)(ring->completion + cq->cqes);
	unsigned int head = *word(ring->completion, cq->head);

	*ring->entry = *entry;
	*word(ring->submission, sq->array) = 0;
	__atomic_fetch_add(word(ring->submission, sq->tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1 ||
	    __atomic_load_n(word(ring->completion, cq->tail), __ATOMIC_ACQUIRE) == head)
		return false;
	__atomic_store_n(word(ring->completion, cq->head), head + 1, __ATOMIC_RELEASE);
	return cqes[head & *word(ring->completion, cq->ring_mask)].res >= 0;
}

static void try(struct ring *ring, const struct io_uring_sqe *entry)
{
	selftest_note(IOTR_IOURING, entry->opcode, request(ring, entry), true);
}

void selftest_ring(void)
{
	static char bytes[PAGE];
	struct iovec vector = { bytes, sizeof(bytes) };
	struct ring ring = { 0 };
	int fd = open("ring", O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0 || !ring_open(&ring))
		return;
	try(&ring, &(struct io_uring_sqe){ .opcode = IORING_OP_NOP, .fd = -1 });
	try(&ring, &(struct io_uring_sqe){ .opcode = IORING_OP_WRITEV, .fd = fd,
					   .addr = (unsigned long)&vector, .len = 1 });
	try(&ring, &(struct io_uring_sqe){ .opcode = IORING_OP_READV, .fd = fd,
					   .addr = (unsigned long)&vector, .len = 1 });
	try(&ring, &(struct io_uring_sqe){ .opcode = IORING_OP_WRITE, .fd = fd,
					   .addr = (unsigned long)bytes, .len = PAGE });
	try(&ring, &(struct io_uring_sqe){ .opcode = IORING_OP_READ, .fd = fd,
					   .addr = (unsigned long)bytes, .len = PAGE });
	try(&ring, &(struct io_uring_sqe){ .opcode = IORING_OP_FSYNC, .fd = fd });
	try(&ring, &(struct io_uring_sqe){ .opcode = IORING_OP_FALLOCATE, .fd = fd, .addr = PAGE });
	try(&ring, &(struct io_uring_sqe){ .opcode = IORING_OP_CLOSE, .fd = fd });
	close(ring.fd);
}
