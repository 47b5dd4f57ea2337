/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layer APPLICATION: requests of io_uring. They are counted when they complete; on kernels whose completions do not name
 * the request, when they are submitted, with the bytes asked for.
 */
#pragma once

#include "layers_calls.bpf.h"
#include "uring.bpf.h"

#define LAYER_URING 4096 /* requests in flight whose begin is known, at most */

/* When a request began. LRU, as some have no completion. */
HASH_OF(layer_uring, LRU_HASH, __u64, __u64, LAYER_URING);

static __always_inline bool uring_counts(__u32 opcode)
{
	return uring_set(opcode) &
	       (URING_READS | URING_WRITES | URING_ONE(FSYNC) | URING_ONE(SYNC_FILE_RANGE));
}

/* Counts a request on its file. `begin_ns` 0: not known. A global function. */
__noinline int uring_count(__u64 inode, __u32 opcode, __s64 result, __u64 begin_ns)
{
	__u64 set = uring_set(opcode), where;
	struct iotr_layer_counts *counts;
	__u32 index, layer;
	bool block;

	where = inode ? where_of(inode, &block) : 0;
	if (!where || (!block && pseudo_super(number_of(where))))
		return NO_ACCOUNT;
	index = account_current(block ? (__u32)where : READ(struct super_block, where, s_dev));
	counts = counts_of(index);
	layer = set & URING_READS ? IOTR_LAYER_APP_READ :
		set & URING_WRITES ? IOTR_LAYER_APP_WRITE : IOTR_LAYER_APP_SYNC;
	if (!counts)
		return NO_ACCOUNT;
	if (layer == IOTR_LAYER_APP_SYNC && result > 0)
		result = 0;
	sum_add(&counts->sums[layer], 1, result > 0 ? result : 0);
	if (result < 0)
		__sync_fetch_and_add(&counts->sums[layer].errors, 1);
	if (begin_ns)
		latency_count(counts, layer, begin_ns);
	return index;
}

static __always_inline int uring_begins(struct io_kiocb *kernel)
{
	__u64 key = (__u64)kernel, now;

	if (!uring_counts(READ(struct io_kiocb, kernel, opcode)))
		return 0;
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&layer_uring, &key, &now, BPF_ANY);
	return 0;
}

/* On the oldest kernels. */
static __always_inline int uring_begins_unnamed(struct io_kiocb *kernel, __u32 opcode)
{
	__u64 file = ADDRESS(struct io_kiocb, kernel, file), bytes = 0;

	if (!file || !uring_counts(opcode))
		return 0;
	if (uring_set(opcode) & (URING_READS | URING_WRITES) & ~URING_VECTORS)
		bytes = READ(struct io_rw, kernel, len);
	uring_count(ADDRESS(struct file, file, f_inode), opcode, bytes, 0);
	return 0;
}

/* A completion that names its request. */
static __always_inline int uring_ended(struct io_kiocb *kernel, __s64 result)
{
	__u64 key = (__u64)kernel, *begun, file;
	__u32 opcode, index;

	if (!kernel)
		return 0;
	opcode = READ(struct io_kiocb, kernel, opcode);
	if (!uring_counts(opcode))
		return 0;
	begun = bpf_map_lookup_elem(&layer_uring, &key);
	file = ADDRESS(struct io_kiocb, kernel, file);
	if (!file)
		return 0;
	index = uring_count(ADDRESS(struct file, file, f_inode), opcode, result, begun ? *begun : 0);
	if (index != NO_ACCOUNT && result > 0 && uring_set(opcode) & URING_READS)
		hits_count(index, number_of(file), READ(struct io_rw, kernel, kiocb.ki_pos), result);
	if (begun)
		bpf_map_delete_elem(&layer_uring, &key);
	return 0;
}
