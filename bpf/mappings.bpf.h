/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mapping that an address lies in, from the tree of mappings of newer kernels. The helper for
 * it lets go of its lock through an interrupt where interrupts are off, as in a fault that is
 * counted: on a virtual machine that costs more than all the rest of a row.
 */
#pragma once

#include "pagecache.bpf.h"

#define MAPPING_LEVELS 6  /* of the tree */
#define MAPPING_SLOTS  16 /* of a node at most */
#define NODE_BITS      255 /* of a node's address that say what it is */

static __always_inline __u64 word_at(__u64 address)
{
	return ADDRESS(struct list_head, address, next);
}

/* What a node has for the address: another node, or a mapping. */
static __always_inline __u64 node_look(__u64 entry, __u64 address, bool arranged)
{
	__u64 node = entry & ~(__u64)NODE_BITS, pivots, slots, pivot;
	__u32 slot = 0, last;

	if (arranged) {
		pivots = node + bpf_core_field_offset(struct maple_arange_64, pivot);
		slots = node + bpf_core_field_offset(struct maple_arange_64, slot);
	} else {
		pivots = node + bpf_core_field_offset(struct maple_range_64, pivot);
		slots = node + bpf_core_field_offset(struct maple_range_64, slot);
	}
	last = (slots - pivots) / sizeof(pivot); /* the last slot has no pivot */
	for (; slot < MAPPING_SLOTS - 1 && slot < last; slot++) {
		pivot = word_at(pivots + slot * sizeof(pivot));
		if (address <= pivot || (!pivot && slot))
			break;
	}
	return word_at(slots + slot * sizeof(pivot));
}

/* The mapping of the current process, or 0: none, or not found. Verified once. */
__noinline __u64 mapping_of(__u64 address)
{
	__u64 mm = ADDRESS(struct task_struct, current_task(), mm), entry;

	if (!mm || !bpf_core_type_exists(struct maple_arange_64))
		return 0;
	entry = ADDRESS(struct mm_struct___610, mm, mm_mt.ma_root);
	for (int level = 0; level < MAPPING_LEVELS; level++) {
		__u32 type = entry >> 3 & 0xf;

		if ((entry & 3) != 2 || entry < 4096) /* no node */
			break;
		entry = node_look(entry, address,
				  type == bpf_core_enum_value(enum maple_type, maple_arange_64));
		if (type == bpf_core_enum_value(enum maple_type, maple_leaf_64))
			break;
		entry |= 2; /* only the root says so of itself */
	}
	if (!entry || entry & 3 || address < READ(struct vm_area_struct, entry, vm_start) ||
	    address >= READ(struct vm_area_struct, entry, vm_end))
		return 0;
	return entry;
}
