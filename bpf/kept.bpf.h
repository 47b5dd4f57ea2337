/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of what is in flight, by its address. Addresses come again and again, so entries of what has ended stay, up to a
 * number, to be filled in again: to make an entry and to delete it costs as much as four looks at it. Whether an entry is of
 * something in flight is said by the entry itself.
 */
#pragma once

#include "maps.bpf.h"

#define KEPT_MAX 2048

enum kept {
	KEPT_REQUESTS, /* of block */
	KEPT_BIOS,     /* of which some may have been evicted since */
	KEPT_URING,
	KEPT_COUNT,
};

ARRAY_OF(kept, __s64, KEPT_COUNT, 0); /* count of entries in each table */

/* Counts an entry that was made (1) or deleted (-1). */
static __always_inline void kept_count(__u32 table, __s64 by)
{
	__s64 *count = bpf_map_lookup_elem(&kept, &table);

	if (count)
		__sync_fetch_and_add(count, by);
}

/* Whether an entry of what has ended is to stay. */
static __always_inline bool kept_stays(__u32 table)
{
	__s64 *count = bpf_map_lookup_elem(&kept, &table);

	return count && *count <= KEPT_MAX;
}
