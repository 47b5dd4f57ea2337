/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metadata of btrfs, which is in the page cache, as pages of an inode that is no file. They are made dirty by who changes them, or
 * by kernel threads that do so later for others, as when data was written: what these change is of the process that
 * changed most in the transaction, of which the file system gathers one at a time. Some of it is a log: what fsync writes, so
 * that the transaction need not be written as a whole.
 */
#pragma once

#include "blockdev.bpf.h"
#include "journal.bpf.h"

/* A number for the transaction that a file system is in, which no other file system has; 0: not known. */
static __always_inline __u64 btrfs_transaction(const struct iotr_control *page, __u64 inode)
{
	__u64 sb = ADDRESS(struct inode, inode, i_sb), system = sb ? ADDRESS(struct super_block, sb, s_fs_info) : 0;

	if (!system || !page->btrfs.generation)
		return 0;
	return iotr_mix(address_at(sb + bpf_core_field_offset(struct super_block, s_uuid)),
			address_at(system + page->btrfs.generation));
}

/* Whether a folio of metadata is part of a log. */
static __always_inline bool btrfs_logs(const struct iotr_control *page, __u64 folio)
{
	__u64 buffer = folio_private(folio);

	/* A number from 0 on for what is part of one, otherwise -1, in one byte. */
	return buffer && page->btrfs.log_index && !(address_at(buffer + page->btrfs.log_index) & 0x80);
}
