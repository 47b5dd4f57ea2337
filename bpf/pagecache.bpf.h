/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that pages in memory belong to. */
#pragma once

#include "aliases.bpf.h"
#include "context.bpf.h"
#include "files.bpf.h"
#include "folio.bpf.h"
#include "subtree.bpf.h"

#define PAGE_SHIFT    12
#define PAGE_BYTES    (1ULL << PAGE_SHIFT)

/* A pointer among a program's arguments, counted from 0, as a number. */
static __always_inline __u64 argument_address(const __u64 *arguments, __u32 index)
{
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), arguments + index);
	return address;
}

/* ---- the file that an inode is ---- */

struct cached {
	struct iotr_file file;
	__u64 size; /* pages, the last one perhaps not full */
};

/*
 * The open file by which the call under way came to an inode, or 0: descriptors are the first or
 * the second argument. Outside of a call they are whatever is there, and the inode decides.
 */
static __always_inline __u64 file_of_call(__u64 inode)
{
	struct pt_regs *regs = user_registers();
	struct task_struct *task = current_task();
	bool compat = abi_of(task) == IOTR_ABI_COMPAT;
	__u64 file;

	file = file_of_fd(task, compat ? READ(struct pt_regs, regs, bx) : READ(struct pt_regs, regs, di));
	if (file && (__u64)READ(struct file, file, f_inode) == inode)
		return file;
	file = file_of_fd(task, compat ? READ(struct pt_regs, regs, cx) : READ(struct pt_regs, regs, si));
	return file && (__u64)READ(struct file, file, f_inode) == inode ? file : 0;
}

/* Where an inode is in the tree of files; dentry 0: nowhere. */
static __always_inline struct place place_of_inode(__u64 inode)
{
	__u64 file = file_of_call(inode);

	return file ? place_of_file(file) : place_of_alias(inode);
}

/* The name of an open file. Verified once; most are known. */
__noinline __u64 name_of_file(__u64 file)
{
	struct iotr_control *page = control_page();
	struct place place = place_of_file(file);
	__u64 id;

	if (!page || !place.dentry)
		return 0;
	id = name_id(page->epoch, place);
	return name_known(id) ? id : name_of_place(place);
}

/* The name that an inode has in the tree of files, or 0. Verified once. */
__noinline __u64 name_of_inode(__u64 inode)
{
	__u64 file = file_of_call(inode);
	struct place place;

	if (file)
		return name_of_file(file);
	place = place_of_alias(inode);
	return place.dentry ? name_of_place(place) : 0;
}

/* Sessions in whose folders an inode is. Verified once. */
__noinline __u64 inode_within(__u64 inode)
{
	struct iotr_control *page = control_page();
	struct place place = place_of_inode(inode);

	if (!page || !place.dentry)
		return 0;
	return subtree_sessions(page, subtree_find(place));
}

/* Inode 0: no file. */
static __always_inline __u64 filter_inode(struct iotr_control *page, __u64 sessions, __u64 inode)
{
	if (!(sessions & page->filtered[IOTR_FILTER_PATH]))
		return sessions;
	return filter_accepted(page, sessions, IOTR_FILTER_PATH, inode ? inode_within(inode) : 0);
}

/*
 * What a row says of a cached file. A disk's own cache has the disk as device, and neither inode
 * nor name. False: not a file of a user.
 */
static __always_inline bool cached_fill(__u64 inode, struct cached *ret)
{
	__u64 sb = inode ? (__u64)READ(struct inode, inode, i_sb) : 0;
	__u64 magic = sb ? READ(struct super_block, sb, s_magic) : 0;

	if (!sb || pseudo_magic(magic))
		return false;
	ret->file.name = 0;
	ret->file.flags = 0;
	ret->size = ((__u64)READ(struct inode, inode, i_size) + PAGE_BYTES - 1) >> PAGE_SHIFT;
	if (magic == BDEVFS_MAGIC) {
		ret->file.inode = IOTR_UNKNOWN;
		ret->file.device = READ(struct inode, inode, i_rdev);
		return true;
	}
	ret->file.inode = READ(struct inode, inode, i_ino);
	ret->file.device = READ(struct super_block, sb, s_dev);
	return true;
}
