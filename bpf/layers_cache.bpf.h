/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layer CACHE, and what applications do through mapped files. Hits have no hook of their own: pages that a read returns are
 * counted as hits when it ends, and those of them that were added to the cache for it are taken off when that happens.
 */
#pragma once

#include "folio.bpf.h"
#include "iovec.bpf.h"
#include "layers_calls.bpf.h"

#define NR_READAHEAD	  187
#define NR_IO_URING_ENTER 426

/* Pages from `from` up to `to`, which is excluded. */
struct page_range {
	__u64 from, to;
};

/* Why pages are added to the cache. */
enum adding {
	ADDS_OTHER, /* for a fault, or for the kernel itself */
	ADDS_READ,  /* for a read call, whose range is known */
	ADDS_URING, /* for a request of io_uring */
	ADDS_AHEAD, /* on request of readahead() */
	ADDS_WRITE, /* to be written */
};

static __always_inline __u64 position_asked(const struct pt_regs *regs, __u64 number)
{
	switch (number) {
	case NR_pread64:
	case NR_preadv:
	case NR_preadv2:
		return READ(struct pt_regs, regs, r10);
	case NR_sendfile64:
		return position_user(READ(struct pt_regs, regs, dx));
	case NR_splice:
		return position_user(READ(struct pt_regs, regs, si));
	default:
		return IOTR_UNKNOWN;
	}
}

static __always_inline __u64 bytes_asked(const struct pt_regs *regs, __u64 number)
{
	switch (number) {
	case NR_readv:
	case NR_preadv:
	case NR_preadv2:
		return iovec_bytes(READ(struct pt_regs, regs, si), READ(struct pt_regs, regs, dx), false);
	case NR_sendfile64:
		return READ(struct pt_regs, regs, r10);
	case NR_splice:
		return READ(struct pt_regs, regs, r8);
	default:
		return READ(struct pt_regs, regs, dx);
	}
}

/* The pages that the read call in flight asks for; all there are, if that is not known. */
static __always_inline struct page_range range_asked(const struct pt_regs *regs, __u64 number, __u64 file)
{
	struct page_range range = { 0, IOTR_UNKNOWN };
	__u64 position = position_asked(regs, number), bytes = bytes_asked(regs, number);

	if (position == IOTR_UNKNOWN)
		position = READ(struct file, file, f_pos);
	if (bytes >> 62 || position >> 62)
		return range;
	range.from = position >> PAGE_SHIFT_COUNT;
	range.to = (position + bytes + (1 << PAGE_SHIFT_COUNT) - 1) >> PAGE_SHIFT_COUNT;
	return range;
}

/* The number of the system call in flight; negative: there is none, as in a page fault. */
static __always_inline __s64 number_in_flight(void)
{
	return call_number(user_registers());
}

/* Why the current thread adds a page, of a block device or of a file; sets the range that is asked for. */
static __always_inline enum adding adding_for(__u32 flags, bool block, struct page_range *range)
{
	struct task_struct *task = current_task();
	struct pt_regs *regs = user_registers();
	bool compat = abi_of(task) == IOTR_ABI_COMPAT, other;
	__s64 number = call_number(regs);
	__u64 file;
	__u8 kind;

	range->from = 0;
	range->to = IOTR_UNKNOWN;
	if (flags & PF_KTHREAD || number >= IOTR_CALLS)
		return ADDS_OTHER;
	if (flags & PF_IO_WORKER && HAS_FOLIO)
		return ADDS_URING;
	if (number < 0)
		return ADDS_OTHER;
	if (!compat && (number == NR_READAHEAD || number == NR_fadvise64))
		return ADDS_AHEAD;
	if (number == NR_IO_URING_ENTER)
		return ADDS_URING;
	kind = kind_of(number, compat);
	if (!(kind & 7))
		return kind && !block ? ADDS_WRITE : ADDS_OTHER;
	if (compat)
		return kind >> 3 ? ADDS_OTHER : ADDS_READ;
	if (number == NR_copy_file_range)
		return block ? ADDS_OTHER : ADDS_AHEAD;
	file = file_of_fd(task, descriptor(regs, kind & 7, false));
	if (!file || !where_of(ADDRESS(struct file, file, f_inode), &other) || other != block)
		return ADDS_OTHER;
	*range = range_asked(regs, number, file);
	return ADDS_READ;
}

static __always_inline __u64 overlap(__u64 index, __u64 pages, const struct page_range *range)
{
	__u64 from = index > range->from ? index : range->from;
	__u64 to = index + pages < range->to ? index + pages : range->to;

	return from < to ? to - from : 0;
}

/* Counts a page that a fault has to wait for, and returns how many of the pages it is among. */
static __always_inline __u64 fault_adds(__u32 index, struct layer_thread *slot, __u64 mapping, __u64 first, __u64 pages)
{
	struct page_range asked = { slot->fault_index, slot->fault_index + 1 };
	__u64 missed;

	if (!slot->faults)
		return pages;
	missed = slot->fault_mapping == mapping ? overlap(first, pages, &asked) : 0;
	if (missed)
		COUNT_LAYER(index, IOTR_LAYER_MAP_READ, 1, 1 << PAGE_SHIFT_COUNT);
	return missed;
}

/* Pages were added to the cache. A global function. */
__noinline int pages_added(__u64 thread, __u64 folio)
{
	__u64 mapping = folio_mapping(folio), first, pages, missed;
	__u64 inode = mapping ? ADDRESS(struct address_space, mapping, host) : 0;
	struct task_struct *task = current_task();
	struct layer_thread *slot = thread_take(thread);
	struct page_range range;
	enum adding adding;
	__u32 index;
	bool block;

	if (!inode || !slot || !where_of(inode, &block))
		return 0;
	adding = adding_for(FOLLOW(task, flags), block, &range);
	if (adding == ADDS_WRITE)
		return 0;
	index = account_at(slot, thread, task, inode);
	if (index == NO_ACCOUNT)
		return 0;
	first = folio_index(folio);
	pages = folio_pages(folio);
	missed = adding == ADDS_AHEAD ? 0 : overlap(first, pages, &range);
	if (adding == ADDS_OTHER)
		missed = fault_adds(index, slot, mapping, first, pages);
	if (missed)
		COUNT_LAYER(index, IOTR_LAYER_CACHE_MISS, missed, missed << PAGE_SHIFT_COUNT);
	if (missed && adding == ADDS_READ)
		slot->missed = 1;
	if (missed && (adding == ADDS_READ || adding == ADDS_URING))
		COUNT_LAYER(index, IOTR_LAYER_CACHE_HIT, minus(missed), minus(missed << PAGE_SHIFT_COUNT));
	if (pages > missed)
		COUNT_LAYER(index, IOTR_LAYER_CACHE_READAHEAD, pages - missed, (pages - missed) << PAGE_SHIFT_COUNT);
	return 0;
}

/* Clean pages were made dirty. A global function. */
__noinline int pages_dirtied(__u64 thread, __u64 folio)
{
	__u64 mapping = folio_mapping(folio), pages = folio_pages(folio);
	__u64 inode = mapping ? ADDRESS(struct address_space, mapping, host) : 0;
	struct task_struct *task = current_task();
	struct layer_thread *slot = thread_take(thread);
	__u32 index;

	if (!inode || !slot)
		return 0;
	index = account_at(slot, thread, task, inode);
	if (index == NO_ACCOUNT)
		return 0;
	COUNT_LAYER(index, IOTR_LAYER_CACHE_DIRTIED, pages, pages << PAGE_SHIFT_COUNT);
	if (!calls_nothing(FOLLOW(task, flags)) && number_in_flight() < 0)
		COUNT_LAYER(index, IOTR_LAYER_MAP_WRITE, 1, 1 << PAGE_SHIFT_COUNT);
	return 0;
}

/* A fault begins to look for a page of a file in the cache. A global function. */
__noinline int fault_begins(__u64 thread, __u64 mapping, __u64 index)
{
	struct layer_thread *slot = thread_take(thread);

	if (!slot)
		return 0;
	slot->faults = 1;
	slot->fault_mapping = mapping;
	slot->fault_index = index;
	return 0;
}
