// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench_ring.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER BPF_RINGBUF_HDR_SZ

static void *check(void *mapped, const char *what)
{
	if (mapped == MAP_FAILED) {
		perror(what);
		exit(1);
	}
	return mapped;
}

/* In place of libbpf's: the "map" is one of the files made here. */
int __wrap_bpf_obj_get_info_by_fd(int fd, void *info, uint32_t *length);
int __wrap_bpf_obj_get_info_by_fd(int fd, void *info, uint32_t *length)
{
	struct stat status;

	(void)length;
	if (fstat(fd, &status) < 0)
		return -1;
	((struct bpf_map_info *)info)->max_entries =
		(uint32_t)((size_t)status.st_size / 2 - (size_t)sysconf(_SC_PAGESIZE));
	return 0;
}

/* The kernel shows the data twice; here the second is never read, for no record lies across the end. */
void bench_ring_new(struct bench_ring *ring, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = 2 * page + 2 * size;

	memset(ring, 0, sizeof(*ring));
	ring->size = size;
	ring->fd = memfd_create("bench ring", MFD_CLOEXEC);
	if (ring->fd < 0 || ftruncate(ring->fd, (off_t)whole) < 0)
		check(MAP_FAILED, "ring");
	ring->consumed = check(mmap(NULL, 2 * page + size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0), "ring");
	ring->produced = (void *)((char *)ring->consumed + page);
	ring->data = (unsigned char *)ring->consumed + 2 * page;
}

static uint32_t *header_at(struct bench_ring *ring, size_t at)
{
	return (uint32_t *)(ring->data + at);
}

void *bench_ring_add(struct bench_ring *ring, size_t size)
{
	size_t span = (size + HEADER + 7) & ~(size_t)7, left = ring->size - ring->used;
	uint32_t *header = header_at(ring, ring->used);

	if (left < span) {
		if (left)
			*header = (uint32_t)(left - HEADER) | BPF_RINGBUF_DISCARD_BIT;
		return NULL;
	}
	*header = (uint32_t)size;
	ring->used += span;
	ring->record = span;
	ring->rows_lap++;
	return (char *)header + HEADER;
}

void bench_ring_publish(struct bench_ring *ring)
{
	__atomic_store_n(ring->produced, ring->used, __ATOMIC_RELEASE);
}

uint64_t bench_ring_publish_rows(struct bench_ring *ring, uint64_t upto)
{
	uint64_t before = *ring->produced / ring->size * ring->rows_lap +
			  *ring->produced % ring->size / ring->record;
	unsigned long room = __atomic_load_n(ring->consumed, __ATOMIC_ACQUIRE) + ring->size;
	unsigned long position = upto / ring->rows_lap * ring->size +
				 upto % ring->rows_lap * ring->record;

	if (position > room)
		position = room / ring->size * ring->size + room % ring->size / ring->record * ring->record;
	if (position > *ring->produced)
		__atomic_store_n(ring->produced, position, __ATOMIC_RELEASE);
	else
		return before;
	return position / ring->size * ring->rows_lap + position % ring->size / ring->record;
}
