/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that pages in memory belong to. */
#pragma once

#include "backing.bpf.h"
#include "folio.bpf.h"
#include "subtree.bpf.h"

#define PAGE_SHIFT    12
#define PAGE_BYTES    (1ULL << PAGE_SHIFT)

/* A pointer argument of a program, by its index from 0, as a number. */
static __always_inline __u64 argument_address(const __u64 *arguments, __u32 index)
{
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), arguments + index);
	return address;
}

/* ---- the file that an inode is ---- */

struct cached {
	struct iotr_file file;
	__u64 size; /* size in pages, rounded up */
};

/* A place of an inode in the file hierarchy; dentry 0: none is found. */
static __always_inline struct place place_of_inode(__u64 inode)
{
	__u64 file = file_of_call(inode);

	return file ? place_of_file(file) : place_of_alias(inode);
}

/* The id of the name of an inode, or 0. A global function. */
__noinline __u64 name_of_inode(__u64 inode)
{
	struct iotr_control *page = control_page();
	struct backed *entry = page ? backed_by(page, inode) : NULL;

	return entry ? backed_name(entry) : name_of_place(place_of_inode(inode));
}

/* Sessions whose path filter accepts an inode. A global function. */
__noinline __u64 inode_within(__u64 inode)
{
	struct iotr_control *page = control_page();
	struct backed *entry = page ? backed_by(page, inode) : NULL;
	struct place place = entry ? backed_place(entry) : place_of_inode(inode);

	if (!page || !place.dentry)
		return 0;
	return subtree_sessions(page, subtree_find(place));
}

/* Applies path filters to an inode; 0: no file, which they do not accept. */
static __always_inline __u64 filter_inode(struct iotr_control *page, __u64 sessions, __u64 inode)
{
	if (!(sessions & page->filtered[IOTR_FILTER_PATH]))
		return sessions;
	return filter_accepted(page, sessions, IOTR_FILTER_PATH, inode ? inode_within(inode) : 0);
}

static __always_inline __u64 size_in_pages(__u64 inode)
{
	return ((__u64)READ(struct inode, inode, i_size) + PAGE_BYTES - 1) >> PAGE_SHIFT;
}

/*
 * Fills in what there is of a cached file where its pages are. For the page cache of a block device the device is that, and
 * there is neither inode nor name. False: it is on a pseudo file system.
 */
static __always_inline bool cached_below(__u64 inode, struct cached *ret)
{
	__u64 sb = inode ? (__u64)READ(struct inode, inode, i_sb) : 0;
	__u64 magic = sb ? READ(struct super_block, sb, s_magic) : 0;

	if (!sb || pseudo_magic(magic))
		return false;
	ret->file.name = 0;
	ret->file.flags = 0;
	ret->size = size_in_pages(inode);
	if (magic == BDEVFS_MAGIC) {
		ret->file.inode = IOTR_UNKNOWN;
		ret->file.device = READ(struct inode, inode, i_rdev);
		return true;
	}
	ret->file.inode = READ(struct inode, inode, i_ino);
	ret->file.device = device_by(magic, number_of(inode), sb);
	return true;
}

/* The same of the file that the process sees. */
static __always_inline bool cached_fill(__u64 inode, struct cached *ret)
{
	if (!cached_below(inode, ret))
		return false;
	if (ret->file.inode != IOTR_UNKNOWN)
		backed_fill(control_page(), number_of(inode), &ret->file);
	return true;
}
