// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/dirtied.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "probes/probes_private.h"

/*
 * Entries for a quarter of the memory's pages, which is about what the kernel lets be dirty by default. A dirtier is kept
 * for each PAGES_PER_DIRTIER of them.
 */
#define MEMORY_PER_ENTRY  4
#define ENTRIES_MIN	  (128U << 10)
#define ENTRIES_MAX	  (8U << 20)
#define PAGES_PER_DIRTIER 64

static uint32_t entries(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	uint32_t count = ENTRIES_MIN;

	while (count < ENTRIES_MAX && count < pages / MEMORY_PER_ENTRY)
		count *= 2;
	return count;
}

/* By index in probes->dirtied: the maps that programs find the tables in. */
static const char *const maps[DIRTIED_TABLES] = { "dirtied", "dirtiers" };

/* Makes a table, and puts it where programs find it. */
static int table_add(struct probes *probes, size_t which, enum bpf_map_type type, uint32_t value, uint32_t count,
		     uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = flags);
	struct bpf_map *outer = map_find(probes, maps[which]);
	int table = bpf_map_create(type, maps[which], sizeof(uint32_t), value, count, &options);
	uint32_t zero = 0;

	if (table < 0)
		return table;
	probes->dirtied[which] = table;
	if (!outer)
		return -ENOENT;
	return bpf_map_update_elem(bpf_map__fd(outer), &zero, &table, BPF_ANY) < 0 ? -errno : 0;
}

void dirtied_end(struct probes *probes)
{
	uint32_t zero = 0;

	for (size_t i = 0; i < DIRTIED_TABLES; i++) {
		struct bpf_map *outer = map_find(probes, maps[i]);

		if (outer && probes->dirtied[i] >= 0)
			bpf_map_delete_elem(bpf_map__fd(outer), &zero);
		closep(&probes->dirtied[i]);
		probes->dirtied[i] = -1;
	}
}

/* The number of the last one is of a table that has gone. */
static void last_forget(const struct probes *probes)
{
	const struct bpf_map *map = map_find(probes, "dirtier_last");
	_cleanup_free_ void *values = NULL;
	uint32_t zero = 0;

	if (map)
		values = calloc(libbpf_num_possible_cpus(), (bpf_map__value_size(map) + 7) / 8 * 8);
	if (values)
		bpf_map_update_elem(bpf_map__fd(map), &zero, values, BPF_ANY);
}

void dirtied_begin(struct probes *probes)
{
	uint32_t count = entries();
	int r;

	dirtied_end(probes);
	last_forget(probes);
	probes->page->dirtied_mask = count - 1;
	r = table_add(probes, 0, BPF_MAP_TYPE_ARRAY, sizeof(uint64_t), count, BPF_F_INNER_MAP);
	if (r >= 0)
		r = table_add(probes, 1, BPF_MAP_TYPE_LRU_HASH, IOTR_DIRTIER_SIZE, count / PAGES_PER_DIRTIER, 0);
	if (r < 0)
		log_warning("who made pages dirty is not recorded, so what is written back is of unknown processes: "
			    "%s", strerror(-r));
}
