/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The VMA that an address lies in, from the process's own tree of VMAs. The tree is complete: it has what
 * was mapped before the programs were attached, by execve or inherited, and the result of every split and
 * replacement. The helper bpf_find_vma() releases the mmap lock by an irq_work interrupt where interrupts
 * are off, as in a page fault's perf event: on a virtual machine that costs more than the rest of a row.
 *
 * Where the mmap lock is not held, another thread may change the tree during the walk. Then a VMA may not
 * be found, but a wrong one is never returned, as the walk checks that the address lies in the result.
 */
#pragma once

#include "files.bpf.h"

#define TREE_LEVELS    48 /* maximum of levels of the older red-black tree */
#define S_PRIVATE      512 /* inode flag of a file internal to the kernel, as for shared anonymous memory */
#define MAPPING_LEVELS 6  /* maximum of levels of the maple tree */
#define MAPPING_SEARCH 4  /* log2 of the maximum of slots of a node of the maple tree */
#define NODE_BITS      255 /* low bits of a pointer to a node, which have its type */

/*
 * The entry of a node for the address: another node, or a VMA. `arranged`: the node is a maple_arange_64. The pivots are in
 * order, each the last address of its slot, and 0 behind the last that is in use.
 */
static __always_inline __u64 node_look(__u64 entry, __u64 address, bool arranged)
{
	__u64 node = entry & ~(__u64)NODE_BITS, pivots, slots, pivot;
	__u32 slot = 0, last, middle;

	if (arranged) {
		pivots = node + bpf_core_field_offset(struct maple_arange_64, pivot);
		slots = node + bpf_core_field_offset(struct maple_arange_64, slot);
	} else {
		pivots = node + bpf_core_field_offset(struct maple_range_64, pivot);
		slots = node + bpf_core_field_offset(struct maple_range_64, slot);
	}
	last = (slots - pivots) / sizeof(pivot); /* the last slot has no pivot */
	for (int step = 0; step < MAPPING_SEARCH && slot < last; step++) {
		middle = (slot + last) / 2;
		pivot = word_at(pivots + middle * sizeof(pivot));
		if (address <= pivot || (!pivot && middle))
			last = middle;
		else
			slot = middle + 1;
	}
	return word_at(slots + slot * sizeof(pivot));
}

/* The current process's VMA at the address; 0: none, or not found. A global function, as is the next. */
__noinline __u64 mapping_of(__u64 address)
{
	__u64 mm = ADDRESS(struct task_struct, current_task(), mm), entry;

	if (!mm || !HAS_MAPLE_TREE)
		return 0;
	entry = ADDRESS(struct mm_struct___610, mm, mm_mt.ma_root);
	for (int level = 0; level < MAPPING_LEVELS; level++) {
		__u32 type = entry >> 3 & 0xf;

		if ((entry & 3) != 2 || entry < 4096) /* not a node */
			break;
		entry = node_look(entry, address,
				  type == bpf_core_enum_value(enum maple_type, maple_arange_64));
		if (type == bpf_core_enum_value(enum maple_type, maple_leaf_64))
			break;
		entry |= 2; /* marks it as a node: only the pointer to the root has the bit set */
	}
	if (!entry || entry & 3 || address < READ(struct vm_area_struct, entry, vm_start) ||
	    address >= READ(struct vm_area_struct, entry, vm_end))
		return 0;
	return entry;
}

/* The same for kernels with the red-black tree. */
__noinline __u64 mapping_of_older(__u64 address)
{
	__u64 mm = ADDRESS(struct task_struct, current_task(), mm), node, vma;

	if (!mm || HAS_MAPLE_TREE)
		return 0;
	node = ADDRESS(struct mm_struct___510, mm, mm_rb.rb_node);
	for (int i = 0; i < TREE_LEVELS && node; i++) {
		vma = node - bpf_core_field_offset(struct vm_area_struct___510, vm_rb);
		if (address < READ(struct vm_area_struct, vma, vm_start))
			node = ADDRESS(struct rb_node, node, rb_left);
		else if (address >= READ(struct vm_area_struct, vma, vm_end))
			node = ADDRESS(struct rb_node, node, rb_right);
		else
			return vma;
	}
	return 0;
}

/* The open file that the current process has mapped at the address, or 0. */
static __always_inline __u64 file_mapped(__u64 address)
{
	__u64 vma = mapping_of(address) ?: mapping_of_older(address), file, inode;

	file = vma ? ADDRESS(struct vm_area_struct, vma, vm_file) : 0;
	if (!file || ADDRESS(struct vm_area_struct, vma, vm_mm) != ADDRESS(struct task_struct, current_task(), mm))
		return 0;
	inode = ADDRESS(struct file, file, f_inode);
	return READ(struct inode, inode, i_flags) & S_PRIVATE ? 0 : file;
}
