// SPDX-License-Identifier: GPL-2.0-or-later
#include "pipeline/ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORD_ALIGN 8

int ring_open(struct ring *ring, int map)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);
	void *consumer, *producer;

	memset(ring, 0, sizeof(*ring));
	if (bpf_obj_get_info_by_fd(map, &info, &length) < 0)
		return -errno;
	consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (consumer == MAP_FAILED)
		return -errno;
	/* The kernel maps the data twice in a row: a record never wraps. */
	producer = mmap(NULL, page + 2UL * info.max_entries, PROT_READ, MAP_SHARED, map, page);
	if (producer == MAP_FAILED) {
		munmap(consumer, page);
		return -errno;
	}
	ring->consumed = consumer;
	ring->position = *ring->consumed;
	ring->produced = producer;
	ring->data = (const unsigned char *)producer + page;
	ring->size = info.max_entries;
	return 0;
}

void ring_close(struct ring *ring)
{
	size_t page = sysconf(_SC_PAGESIZE);

	if (!ring->consumed)
		return;
	munmap(ring->consumed, page);
	munmap(ring->produced, page + 2 * ring->size);
	memset(ring, 0, sizeof(*ring));
}

static size_t record_span(uint32_t length)
{
	size_t payload = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

	return (payload + BPF_RINGBUF_HDR_SZ + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
}

void ring_publish(struct ring *ring)
{
	if (*ring->consumed != ring->position)
		__atomic_store_n(ring->consumed, ring->position, __ATOMIC_RELEASE);
}

/* Bytes that may be read before the kernel is told so. */
static size_t untold_max(const struct ring *ring)
{
	size_t share = ring->size / RING_UNTOLD_SHARE;

	return share < RING_UNTOLD_MAX ? share : RING_UNTOLD_MAX;
}

/* Hands over the record at the position. False: it is still being written. */
static bool read_record(struct ring *ring, ring_handler handler, void *userdata, size_t *count)
{
	const uint32_t *header = (const void *)(ring->data + (ring->position & (ring->size - 1)));
	uint32_t length = __atomic_load_n(header, __ATOMIC_ACQUIRE);

	if (length & BPF_RINGBUF_BUSY_BIT)
		return false;
	if (!(length & BPF_RINGBUF_DISCARD_BIT)) {
		handler(userdata, header + BPF_RINGBUF_HDR_SZ / sizeof(*header), length);
		(*count)++;
	}
	ring->position += record_span(length);
	return true;
}

bool ring_read(struct ring *ring, ring_handler handler, void *userdata, size_t *count)
{
	unsigned long end = __atomic_load_n(ring->produced, __ATOMIC_ACQUIRE);
	size_t most = untold_max(ring);
	bool complete = true;

	while (complete && ring->position < end) {
		complete = read_record(ring, handler, userdata, count);
		if (ring->position - *ring->consumed >= most)
			ring_publish(ring);
	}
	ring_publish(ring);
	return complete;
}
