/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table of what is in flight, by its address, of which not all ends are seen, so that it has to be one that gives up its
 * oldest entries. Addresses come again and again, so entries of what has ended stay, up to a number, to be filled in again: to
 * make an entry and to delete it costs as much as four looks at it. Whether it is of something in flight is said by the entry.
 */
#pragma once

#include "maps.bpf.h"

#define KEPT_MAX 2048

/* The count of a table's entries, which is set to 0 when the table is emptied: see IOTR_IN_FLIGHT. */
#define KEPT(name) ARRAY_OF(name, __s64, 1, 0)

/* Counts an entry that was made (1) or deleted (-1). */
static __always_inline void kept_count(void *kept, __s64 by)
{
	__u32 zero = 0;
	__s64 *count = bpf_map_lookup_elem(kept, &zero);

	if (count)
		__sync_fetch_and_add(count, by);
}

/* Whether an entry of what has ended is to stay. */
static __always_inline bool kept_stays(void *kept)
{
	__u32 zero = 0;
	__s64 *count = bpf_map_lookup_elem(kept, &zero);

	return count && *count <= KEPT_MAX;
}
