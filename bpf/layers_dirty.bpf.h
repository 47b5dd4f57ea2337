/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who made pages of the page cache dirty, so that what kernel threads write back counts for them. An entry is an account's
 * index, and a tag of the page and of that account's process: if either is another one by now, the page's dirtier is not
 * known. The entries of a file's pages lie side by side, so that those of one file do not replace each other.
 */
#pragma once

#include "layers_account.bpf.h"

#define LAYER_DIRTY	 131072 /* entries, a power of two */
#define PAGE_SHIFT_DIRTY 12
#define DIRTY_AT_ONCE	 512 /* maximum of pages of a folio that are noted */

ARRAY_OF(layer_dirty, __u64, LAYER_DIRTY, 0);

static __always_inline __u64 dirty_tag(__u64 mapping, __u64 page, __u32 index)
{
	const struct iotr_layer_key *key = bpf_map_lookup_elem(&layer_keys, &index);

	return key ? iotr_mix(iotr_mix(iotr_mix(0, mapping), page), key->start_ns) & ~0ULL << 32 : 0;
}

static __always_inline __u64 *dirty_entry(__u64 mapping, __u64 page)
{
	__u32 at = ((__u32)(iotr_mix(0, mapping) >> 32) + (__u32)page) & (LAYER_DIRTY - 1);

	return bpf_map_lookup_elem(&layer_dirty, &at);
}

/* Notes pages that the process of an account made dirty. A global function. */
__noinline int dirty_note(__u64 mapping, __u64 first, __u32 pages, __u32 index)
{
	for (__u32 i = 0; i < DIRTY_AT_ONCE && i < pages; i++) {
		__u64 *entry = dirty_entry(mapping, first + i);

		if (entry)
			*entry = dirty_tag(mapping, first + i, index) | index;
	}
	return 0;
}

/* The account of who made a page dirty; NO_DIRTIER: that is not known. A global function. */
#define NO_DIRTIER 0xffffffffU

__noinline __u32 dirtier_of(__u64 mapping, __u64 page)
{
	__u64 *entry = dirty_entry(mapping, page);
	__u64 value = entry ? *entry : 0;
	__u32 index = (__u32)value;

	if (!value || (value & ~0ULL << 32) != dirty_tag(mapping, page, index))
		return NO_DIRTIER;
	return index;
}
