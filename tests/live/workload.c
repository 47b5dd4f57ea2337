// SPDX-License-Identifier: GPL-2.0-or-later
#include "workload.h"

#include "trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

void workload_files(unsigned long rounds)
{
	char space[512] = "";
	struct stat stat_buffer;

	for (unsigned long i = 0; i < rounds; i++) {
		int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0644);

		if (write(fd, space, 512) != 512 || pwrite(fd, space, 100, 1000) != 100 ||
		    pread(fd, space, 100, 0) != 100 || ftruncate(fd, 10) || fstat(fd, &stat_buffer))
			die("file");
		close(fd);
		if (mkdir("dir", 0755) || rename("file", "dir/file") || unlink("dir/file") ||
		    rmdir("dir"))
			die("dir");
	}
}

enum { CROWD_ROUNDS = 20, CROWD_STACK = 64 << 10 };

static struct {
	char name[300]; /* longer than any may be */
	int socket, waiting[2];
	pthread_mutex_t begin;
} crowd;

/* A stream that nothing comes through, until it is shut down. */
static void stream_pair(int ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int server = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(address);

	ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (server < 0 || bind(server, (struct sockaddr *)&address, size) || listen(server, 1) ||
	    getsockname(server, (struct sockaddr *)&address, &size) ||
	    connect(ends[1], (struct sockaddr *)&address, size) || (ends[0] = accept(server, NULL, NULL)) < 0)
		die("stream");
	close(server);
}

static void *crowd_member(void *unused)
{
	char byte;

	pthread_mutex_lock(&crowd.begin);
	pthread_mutex_unlock(&crowd.begin);
	if (recv(crowd.waiting[0], &byte, 1, 0) != 0)
		die("the end of a stream");
	for (int i = 0; i < CROWD_ROUNDS; i++) {
		if (unlink(crowd.name) != -1 || recv(crowd.socket, &byte, 1, MSG_DONTWAIT) != -1)
			die("crowd");
		sched_yield();
	}
	return unused;
}

void workload_crowd(unsigned long threads)
{
	pthread_t *members = calloc(threads, sizeof(*members));
	pthread_attr_t attributes;
	unsigned long size = 0;

	memset(crowd.name, 'x', sizeof(crowd.name) - 1);
	crowd.socket = socket(AF_INET, SOCK_DGRAM, 0);
	if (!members || crowd.socket < 0 || pthread_attr_init(&attributes) ||
	    pthread_attr_setstacksize(&attributes, CROWD_STACK) ||
	    pthread_mutex_lock(&crowd.begin))
		die("crowd");
	stream_pair(crowd.waiting);
	while (size < threads && !pthread_create(&members[size], &attributes, crowd_member, NULL))
		size++;
	pthread_mutex_unlock(&crowd.begin);
	sleep(1); /* for most of them to wait */
	shutdown(crowd.waiting[1], SHUT_RDWR);
	for (unsigned long i = 0; i < size; i++)
		pthread_join(members[i], NULL);
	printf("%lu\n", size);
	free(members);
}

static long device_range(int fd, unsigned long request, long long offset, long long length)
{
	uint64_t range[2] = { (uint64_t)offset, (uint64_t)length };

	return ioctl(fd, request, range);
}

static char *buffer(long long length)
{
	void *at = mmap(NULL, (size_t)length + 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (at == MAP_FAILED)
		die("buffer");
	memset(at, 'x', (size_t)length);
	return at;
}

static long block_read(int fd, long long offset, long long length)
{
	return pread(fd, buffer(length), (size_t)length, offset);
}

static long block_write(int fd, long long offset, long long length)
{
	return pwrite(fd, buffer(length), (size_t)length, offset);
}

/* Many small ones after another, for the kernel to merge. */
static long block_buffered(int fd, long long offset, long long length)
{
	char *from = buffer(4096);

	for (long long done = 0; done < length; done += 4096)
		if (pwrite(fd, from, 4096, offset + done) != 4096)
			return -1;
	return fsync(fd);
}

static long block_flush(int fd, long long offset, long long length)
{
	(void)offset, (void)length;
	return fsync(fd);
}

static long block_discard(int fd, long long offset, long long length)
{
	return device_range(fd, BLKDISCARD, offset, length);
}

static long block_zero(int fd, long long offset, long long length)
{
	return device_range(fd, BLKZEROOUT, offset, length);
}

static const struct {
	const char *name;
	long (*run)(int fd, long long offset, long long length);
	int flags;
} block_operations[] = {
	{ "read", block_read, O_RDWR | O_DIRECT }, { "write", block_write, O_RDWR | O_DIRECT },
	{ "buffered", block_buffered, O_RDWR },	   { "flush", block_flush, O_RDWR | O_DIRECT },
	{ "discard", block_discard, O_RDWR },	   { "zero", block_zero, O_RDWR | O_DIRECT },
};

static int block_one(const char *device, const char *text)
{
	char name[16];
	long long offset = 0, length = 0;

	if (sscanf(text, "%15[^:]:%lld:%lld", name, &offset, &length) < 1)
		return 2;
	for (size_t i = 0; i < sizeof(block_operations) / sizeof(*block_operations); i++) {
		uint64_t begin;
		long ret;
		int fd;

		if (strcmp(name, block_operations[i].name))
			continue;
		fd = open(device, block_operations[i].flags);
		if (fd < 0)
			die(device);
		begin = now();
		ret = block_operations[i].run(fd, offset, length);
		printf("{\"name\":\"%s\",\"offset\":%lld,\"length\":%lld,\"ret\":%ld,\"errno\":%d,"
		       "\"pid\":%d,\"within\":[%llu,%llu]}\n",
		       name, offset, length, ret, ret < 0 ? errno : 0, getpid(),
		       (unsigned long long)begin, (unsigned long long)now());
		close(fd);
		return 0;
	}
	return 2;
}

int workload_block(const char *device, char *const *operations)
{
	for (; *operations; operations++)
		if (block_one(device, *operations))
			return 2;
	return 0;
}
