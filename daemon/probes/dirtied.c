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
 * A bucket has room for 4 groups of 32 pages, or for 4 pages that lie apart, and there are as many entries of one page as would
 * fill as much memory: that is for a fifth of the memory's pages, which is about what the kernel lets be dirty by default, if all
 * lie apart, and for all of them if none does. A dirtier is kept for each BUCKETS_PER_DIRTIER of the buckets.
 */
#define MEMORY_PER_BUCKET   64
#define BUCKETS_MIN	    (8U << 10)
#define BUCKETS_MAX	    (512U << 10)
#define SPILLED_PER_BUCKET  8
#define BUCKETS_PER_DIRTIER 4

static uint32_t buckets(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	uint32_t count = BUCKETS_MIN;

	while (count < BUCKETS_MAX && count < pages / MEMORY_PER_BUCKET)
		count *= 2;
	return count;
}

/* By index in probes->dirtied: the maps that programs find the tables in. */
static const char *const maps[DIRTIED_TABLES] = { "dirtied", "spilled", "dirtiers" };

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

/*
 * For each the kernel waits until no program can see it, so nothing is done where it is known that there are none. Without a page
 * the daemon could not begin, and has made none.
 */
static void tables_remove(struct probes *probes)
{
	uint32_t zero = 0;

	if (!probes->page || !probes->page->dirtied_mask)
		return;
	for (size_t i = 0; i < DIRTIED_TABLES; i++) {
		struct bpf_map *outer = map_find(probes, maps[i]);

		if (outer)
			bpf_map_delete_elem(bpf_map__fd(outer), &zero);
	}
	probes->page->dirtied_mask = 0;
}

void dirtied_end(struct probes *probes)
{
	tables_remove(probes);
	for (size_t i = 0; i < DIRTIED_TABLES; i++) {
		closep(&probes->dirtied[i]);
		probes->dirtied[i] = -1;
	}
}

void dirtied_tidy(struct probes *probes)
{
	tables_remove(probes);
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
	uint32_t count = buckets();
	int r;

	dirtied_end(probes);
	last_forget(probes);
	probes->page->dirtied_mask = count - 1;
	probes->page->spilled_mask = count * SPILLED_PER_BUCKET - 1;
	r = table_add(probes, 0, BPF_MAP_TYPE_ARRAY, IOTR_DIRTIED_SIZE, count, BPF_F_INNER_MAP);
	if (r >= 0)
		r = table_add(probes, 1, BPF_MAP_TYPE_ARRAY, sizeof(uint64_t), count * SPILLED_PER_BUCKET, BPF_F_INNER_MAP);
	if (r >= 0)
		r = table_add(probes, 2, BPF_MAP_TYPE_LRU_HASH, IOTR_DIRTIER_SIZE, count / BUCKETS_PER_DIRTIER, 0);
	if (r < 0)
		log_warning("who made pages dirty is not recorded, so what is written back is of unknown processes: "
			    "%s", strerror(-r));
}
