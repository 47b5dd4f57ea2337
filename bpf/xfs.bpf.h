/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For whom XFS writes its log and its metadata. Transactions are gathered in memory, until all that there are go to the log
 * together, as one checkpoint with a sequence number. When a task ends a transaction, the kernel tells how many bytes of
 * its reservation were used up, which are added up for the checkpoint that is being gathered. Those that are written belong to
 * the one before. A buffer of metadata, which another thread writes in place much later, is of the last task
 * that was the first one to change it, or an inode in it, for a checkpoint. It is noted in the table of spilled.bpf.h, where
 * its address stands for an address_space, and the block's number for the page, as addresses are used again.
 */
#pragma once

#include "journal.bpf.h"
#include "spilled.bpf.h"

#define XFS_CHECKPOINTS 8 /* of one log that are remembered, a power of two: each has an address within the log as its key */

/* The sequence number of the checkpoint that is being gathered for a log; 0: not known. */
static __always_inline __u64 xfs_sequence(const struct iotr_control *page, __u64 log)
{
	__u64 cil = log ? address_at(log + page->xfs.log_cil) : 0;

	return cil ? address_at(cil + page->xfs.cil_sequence) : 0;
}

static __always_inline __u64 xfs_key(__u64 log, __u64 sequence)
{
	return number_of(log) + (sequence & (XFS_CHECKPOINTS - 1));
}

static __always_inline bool xfs_is_known(const struct iotr_control *page)
{
	return page && page->xfs.ticket_whole;
}

/* The log that a bio, which is whole, is written to; 0: not known. */
static __always_inline __u64 xfs_log_of(const struct iotr_control *page, __u64 bio)
{
	__u64 buffer = ADDRESS(struct bio, bio, bi_private);

	return xfs_is_known(page) && buffer ? address_at(buffer + page->xfs.iclog_log) : 0;
}

/* The number of who changed most of what a bio writes to a log; 0: nobody is known. `bio` is whole. */
static __always_inline __u32 xfs_log_cause(const struct iotr_control *page, __u64 bio)
{
	__u64 log = xfs_log_of(page, bio), sequence = xfs_sequence(page, log);

	return sequence ? transaction_cause(xfs_key(log, sequence - 1), sequence - 1) : 0;
}

/* The number of the block that a buffer is of. */
static __always_inline __u64 xfs_block(const struct iotr_control *page, __u64 buffer)
{
	return address_at(buffer + page->xfs.buffer_block);
}

/* The number of who changed what a bio writes of metadata; 0: nobody is known. `bio` is whole. */
static __always_inline __u32 xfs_buffer_cause(const struct iotr_control *page, __u64 bio)
{
	__u64 buffer = ADDRESS(struct bio, bio, bi_private);

	return xfs_is_known(page) && buffer ? spilled_by(page, number_of(buffer), xfs_block(page, buffer)) : 0;
}
