// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench_kinds.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAGE = 4096, FAULTS_MAX = 16 };

static int file = -1, left, right;
static off_t where;
static char block[PAGE] __attribute__((aligned(PAGE)));

/* ---- pread: one byte of the file ---- */

static bool file_prepare(const char *path, off_t offset)
{
	file = open(path, O_RDONLY | O_CLOEXEC);
	where = offset;
	return file >= 0;
}

static bool pread_call(unsigned long number)
{
	char byte;

	(void)number;
	return pread(file, &byte, 1, where) == 1;
}

/* ---- direct: a block of a disk, past the page cache ---- */

static bool direct_prepare(const char *path, off_t offset)
{
	file = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	where = offset;
	return file >= 0;
}

static bool direct_call(unsigned long number)
{
	(void)number;
	return pread(file, block, sizeof(block), where) == (ssize_t)sizeof(block);
}

/* ---- pwrite: one byte of a file of its own beside that one ---- */

static bool pwrite_prepare(const char *path, off_t offset)
{
	char own[PATH_MAX];

	snprintf(own, sizeof(own), "%s-written-%d", path, (int)getpid());
	file = open(own, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	where = offset;
	return file >= 0 && unlink(own) == 0 && pwrite(file, "x", 1, where) == 1;
}

static bool pwrite_call(unsigned long number)
{
	(void)number;
	return pwrite(file, "x", 1, where) == 1;
}

/* ---- rename: of a file of its own beside that one, to and fro; rename-pread: the same, and a pread of the other ---- */

static char names[2][PATH_MAX];

static bool rename_prepare(const char *path, off_t offset)
{
	int made;

	for (int i = 0; i < 2; i++)
		snprintf(names[i], sizeof(names[i]), "%s-renamed-%d-%d", path, (int)getpid(), i);
	made = open(names[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return made >= 0 && close(made) == 0 && file_prepare(path, offset);
}

static bool rename_call(unsigned long number)
{
	(void)number;
	return rename(names[0], names[1]) == 0 && rename(names[1], names[0]) == 0;
}

static bool rename_pread_call(unsigned long number)
{
	return rename_call(number) && pread_call(number);
}

/* ---- fault: a page of the file that is in memory ---- */

static char *pages;

static bool fault_prepare(const char *path, off_t offset)
{
	if (!file_prepare(path, offset))
		return false;
	pages = mmap(NULL, FAULTS_MAX * PAGE, PROT_READ, MAP_SHARED, file, 0);
	return pages != MAP_FAILED && madvise(pages, FAULTS_MAX * PAGE, MADV_RANDOM) == 0;
}

/* One madvise for each fault is in the time of all variants. */
static bool fault_call(unsigned long number)
{
	char *page = pages + number % FAULTS_MAX * PAGE;

	if (madvise(page, PAGE, MADV_DONTNEED) < 0)
		return false;
	(void)*(volatile char *)page;
	return true;
}

/* ---- net: a byte sent and received, two events ---- */

static struct sockaddr_in address = { .sin_family = AF_INET };
static socklen_t length = sizeof(address);

static bool net_prepare(const char *path, off_t offset)
{
	(void)path, (void)offset;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	right = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (right < 0 || bind(right, (struct sockaddr *)&address, length) < 0 ||
	    getsockname(right, (struct sockaddr *)&address, &length) < 0)
		return false;
	left = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return left >= 0 && connect(left, (struct sockaddr *)&address, length) == 0;
}

static bool net_call(unsigned long number)
{
	char byte = 0;

	(void)number;
	return send(left, &byte, 1, 0) == 1 && recv(right, &byte, 1, 0) == 1;
}

/* ---- send: a byte that a filter of the receiver drops, so that nothing fills up: one event ---- */

static struct sock_filter nothing = { .code = BPF_RET | BPF_K };
static const struct sock_fprog takes_nothing = { .len = 1, .filter = &nothing };

static bool send_prepare(const char *path, off_t offset)
{
	return net_prepare(path, offset) &&
	       setsockopt(right, SOL_SOCKET, SO_ATTACH_FILTER, &takes_nothing, sizeof(takes_nothing)) == 0;
}

static bool send_call(unsigned long number)
{
	char byte = 0;

	(void)number;
	return send(left, &byte, 1, 0) == 1;
}

/* ---- conn: a connection from its socket to its end, five events; of Unix, as TCP's vary more ---- */

static struct sockaddr_un unix_address = { .sun_family = AF_UNIX };
static socklen_t unix_length = sizeof(unix_address.sun_family); /* the kernel is to choose one */

static bool conn_prepare(const char *path, off_t offset)
{
	(void)path, (void)offset;
	right = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (right < 0 || bind(right, (struct sockaddr *)&unix_address, unix_length) < 0 || listen(right, 16) < 0)
		return false;
	unix_length = sizeof(unix_address);
	return getsockname(right, (struct sockaddr *)&unix_address, &unix_length) == 0;
}

static bool conn_call(unsigned long number)
{
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), server;

	(void)number;
	if (client < 0 || connect(client, (struct sockaddr *)&unix_address, unix_length) < 0)
		return false;
	server = accept4(right, NULL, NULL, SOCK_CLOEXEC);
	return server >= 0 && close(client) == 0 && close(server) == 0;
}

/* ---- epoll: a wait for nothing ---- */

static bool epoll_prepare(const char *path, off_t offset)
{
	(void)path, (void)offset;
	left = epoll_create1(EPOLL_CLOEXEC);
	return left >= 0;
}

static bool epoll_call(unsigned long number)
{
	struct epoll_event event;

	(void)number;
	return epoll_wait(left, &event, 1, 0) == 0;
}

/* ---- sockopt ---- */

static bool sockopt_call(unsigned long number)
{
	socklen_t size = sizeof(int);
	int value;

	(void)number;
	return getsockopt(left, SOL_SOCKET, SO_RCVBUF, &value, &size) == 0;
}

/* ---- iouring: a request that does nothing; iouring-read: one that reads a byte of the file ---- */

static struct {
	int fd;
	char *sq, *cq;
	struct io_uring_sqe *entry;
	struct io_uring_params params;
} ring;

static void *ring_map(off_t offset)
{
	return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, offset);
}

static bool ring_prepare(const char *path, off_t offset)
{
	(void)path, (void)offset;
	ring.fd = (int)syscall(SYS_io_uring_setup, 1, &ring.params);
	if (ring.fd < 0)
		return false;
	ring.sq = ring_map(IORING_OFF_SQ_RING);
	ring.cq = ring_map(IORING_OFF_CQ_RING);
	ring.entry = ring_map(IORING_OFF_SQES);
	return ring.sq != MAP_FAILED && ring.cq != MAP_FAILED && (void *)ring.entry != MAP_FAILED;
}

static bool ring_read_prepare(const char *path, off_t offset)
{
	return file_prepare(path, offset) && ring_prepare(path, offset);
}

/* Makes a request of ring.entry and takes its completion. */
static bool ring_go(void)
{
	unsigned int *tail = (unsigned int *)(ring.sq + ring.params.sq_off.tail);
	unsigned int *head = (unsigned int *)(ring.cq + ring.params.cq_off.head);

	*(unsigned int *)(ring.sq + ring.params.sq_off.array) = 0;
	__atomic_fetch_add(tail, 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		return false;
	__atomic_fetch_add(head, 1, __ATOMIC_RELEASE);
	return true;
}

static bool ring_call(unsigned long number)
{
	(void)number;
	memset(ring.entry, 0, sizeof(*ring.entry));
	ring.entry->opcode = IORING_OP_NOP;
	return ring_go();
}

static bool ring_read_call(unsigned long number)
{
	(void)number;
	memset(ring.entry, 0, sizeof(*ring.entry));
	ring.entry->opcode = IORING_OP_READ;
	ring.entry->fd = file;
	ring.entry->addr = (unsigned long)block;
	ring.entry->len = 1;
	ring.entry->off = (unsigned long long)where;
	return ring_go();
}

static const struct kind kinds[] = {
	{ "pread", file_prepare, pread_call },
	{ "pwrite", pwrite_prepare, pwrite_call },
	{ "rename", rename_prepare, rename_call },
	{ "rename-pread", rename_prepare, rename_pread_call },
	{ "fault", fault_prepare, fault_call },
	{ "direct", direct_prepare, direct_call },
	{ "send", send_prepare, send_call },
	{ "net", net_prepare, net_call },
	{ "conn", conn_prepare, conn_call },
	{ "epoll", epoll_prepare, epoll_call },
	{ "sockopt", net_prepare, sockopt_call },
	{ "iouring", ring_prepare, ring_call },
	{ "iouring-read", ring_read_prepare, ring_read_call },
};

const struct kind *kind_find(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}
