// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/map_empty.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"

#define BATCH 512 /* entries at once */

static int entries_remove(int map, const struct bpf_map_info *info)
{
	_cleanup_free_ char *keys = malloc((size_t)info->key_size * BATCH);
	_cleanup_free_ char *values = malloc((size_t)info->value_size * BATCH);
	uint64_t token = 0;
	bool begun = false;
	int r = 0;

	if (!keys || !values)
		return -ENOMEM;
	while (r == 0) {
		uint32_t count = BATCH;

		r = bpf_map_lookup_and_delete_batch(map, begun ? &token : NULL, &token, keys, values, &count, NULL);
		begun = true;
	}
	return r == -ENOENT ? 0 : r; /* that was the last batch */
}

static int pages_clear(int map, const struct bpf_map_info *info)
{
	size_t size = (size_t)info->max_entries * ((info->value_size + 7) / 8 * 8);
	void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);

	if (bytes == MAP_FAILED)
		return -errno;
	memset(bytes, 0, size);
	munmap(bytes, size);
	return 0;
}

static int elements_clear(int map, const struct bpf_map_info *info)
{
	_cleanup_free_ void *zeros = calloc(BATCH, info->value_size);
	_cleanup_free_ uint32_t *keys = calloc(BATCH, sizeof(*keys));
	uint32_t count;

	if (info->map_flags & BPF_F_MMAPABLE)
		return pages_clear(map, info);
	if (!zeros || !keys)
		return -ENOMEM;
	for (uint32_t at = 0; at < info->max_entries; at += count) {
		count = info->max_entries - at < BATCH ? info->max_entries - at : BATCH;
		for (uint32_t i = 0; i < count; i++)
			keys[i] = at + i;
		if (bpf_map_update_batch(map, keys, zeros, &count, NULL) < 0)
			return -errno;
	}
	return 0;
}

/* Not in batches, as the kernel has none for these before 5.13. */
static int cpus_clear(int map, const struct bpf_map_info *info)
{
	_cleanup_free_ void *zeros = calloc(libbpf_num_possible_cpus(), (info->value_size + 7) / 8 * 8);

	if (!zeros)
		return -ENOMEM;
	for (uint32_t i = 0; i < info->max_entries; i++)
		if (bpf_map_update_elem(map, &i, zeros, BPF_ANY) < 0)
			return -errno;
	return 0;
}

/* What is in a ring is passed over, as if it had been read. */
static int ring_skip(int map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned long *consumed = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0), *produced;

	if (consumed == MAP_FAILED)
		return -errno;
	produced = mmap(NULL, page, PROT_READ, MAP_SHARED, map, (off_t)page);
	if (produced != MAP_FAILED)
		__atomic_store_n(consumed, __atomic_load_n(produced, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
	munmap(consumed, page);
	if (produced == MAP_FAILED)
		return -errno;
	munmap(produced, page);
	return 0;
}

int map_empty(int map)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(map, &info, &size) < 0)
		return -errno;
	switch (info.type) {
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
		return entries_remove(map, &info);
	case BPF_MAP_TYPE_ARRAY:
		return elements_clear(map, &info);
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		return cpus_clear(map, &info);
	case BPF_MAP_TYPE_RINGBUF:
		return ring_skip(map);
	case BPF_MAP_TYPE_ARRAY_OF_MAPS:
	case BPF_MAP_TYPE_PROG_ARRAY:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}
