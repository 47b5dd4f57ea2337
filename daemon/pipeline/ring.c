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

bool ring_read(struct ring *ring, ring_handler handler, void *userdata, size_t *count)
{
	unsigned long position = *ring->consumed;
	unsigned long end = __atomic_load_n(ring->produced, __ATOMIC_ACQUIRE);

	while (position < end) {
		const uint32_t *header = (const void *)(ring->data + (position & (ring->size - 1)));
		uint32_t length = __atomic_load_n(header, __ATOMIC_ACQUIRE);

		if (length & BPF_RINGBUF_BUSY_BIT)
			return false;
		if (!(length & BPF_RINGBUF_DISCARD_BIT)) {
			handler(userdata, header + BPF_RINGBUF_HDR_SZ / sizeof(*header), length);
			(*count)++;
		}
		position += record_span(length);
		__atomic_store_n(ring->consumed, position, __ATOMIC_RELEASE);
	}
	return true;
}
