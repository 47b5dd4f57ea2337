/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The number of the device that a file is on, as stat(2) shows it: that of its super block, but on btrfs that of its subvolume, as
 * two subvolumes have files of the same inode number.
 */
#pragma once

#include "iotracer.bpf.h"

#define BTRFS_MAGIC 0x9123683e

/*
 * The number of the subvolume of an inode of btrfs, or the super block's, where that is not known. Notes which file system the
 * subvolume is of, for filter_device(). A global function.
 */
__noinline __u32 device_of_subvolume(__u64 inode)
{
	__u32 super = READ(struct super_block, READ(struct inode, inode, i_sb), s_dev), device;
	struct iotr_control *page = control_page();
	__u64 root, *known, is;

	if (!page || !page->btrfs.anon_dev)
		return super;
	root = word_at(inode - page->btrfs.inode + page->btrfs.root);
	device = root ? word_at(root + page->btrfs.anon_dev) : 0;
	if (!device)
		return super;
	known = LOOK_UP(&volumes, device & (IOTR_VOLUMES - 1));
	is = (__u64)super << 32 | device;
	if (known && *known != is)
		*known = is;
	return device;
}

/* The device of an inode, which is a number (see number_of()), of a super block with this magic number. */
static __always_inline __u32 device_by(__u64 magic, __u64 inode, __u64 sb)
{
	if (magic == BTRFS_MAGIC)
		return device_of_subvolume(inode);
	return READ(struct super_block, sb, s_dev);
}

static __always_inline __u32 device_of(__u64 inode, __u64 sb)
{
	return device_by(READ(struct super_block, sb, s_magic), inode, sb);
}
