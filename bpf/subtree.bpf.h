/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter by path: whether a file lies in a folder, by the folders above it as they are now, so
 * that it makes no difference when it was opened, or what it was called before. A folder is known
 * by its inode. One that is looked up is rare among those passed, which path_hints sorts out.
 *
 * Where a file stands is told as its nearest folder in the tree of struct iotr_path_node, and how
 * far below that it is; 0: below none.
 */
#pragma once

#include "files.bpf.h"

#define STAND(node, depth)   ((__u64)(node) | (__u64)(depth) << 16)
#define STAND_NODE(stand)    ((__u32)(stand) & (IOTR_PATH_NODES - 1))
#define STAND_DEPTH(stand)   ((__u32)((stand) >> 16) & 0xffff)

/* The node that an inode is, or 0. A function of its own, verified once. */
__noinline __u64 path_node(__u64 inode)
{
	struct iotr_path_inode key = { .inode = READ(struct inode, inode, i_ino) };
	__u32 *node;

	key.device = READ(struct super_block, READ(struct inode, inode, i_sb), s_dev);
	node = bpf_map_lookup_elem(&path_inodes, &key);
	return node ? *node : 0;
}

/* Whether an inode of that number may be a node. */
static __always_inline bool path_hinted(struct iotr_control *page, __u64 number)
{
	return page->path_hints[number >> 6 & (IOTR_PATH_HINTS - 1)] >> (number & 63) & 1;
}

/* Where a dentry of a mount stands. A function of its own, verified once. */
__noinline __u64 subtree_find_at(__u64 dentry, __u64 mount)
{
	struct iotr_control *page = control_page();
	struct place place = { dentry, mount };
	__u64 inode, node, depth = 0;
	bool mount_root;

	for (int level = 0; level < IOTR_PATH_LEVELS && place.dentry; level++) {
		/* Of a dentry without an inode it reads zeros, as which there is no node. */
		inode = (__u64)READ(struct dentry, place.dentry, d_inode);
		if (page && path_hinted(page, READ(struct inode, inode, i_ino))) {
			node = path_node(number_of(inode));
			if (node)
				return STAND(node, depth);
		}
		mount_root = place.dentry == number_of((__u64)READ(struct vfsmount, place.mount, mnt_root));
		depth += !mount_root; /* what it is mounted on is the same part of the path */
		place = place_above(place, mount_root);
		place.dentry = number_of(place.dentry); /* all numbers: the verifier sees a level like any other */
		place.mount = number_of(place.mount);
	}
	return 0;
}

static __always_inline __u64 subtree_find(struct place place)
{
	return subtree_find_at(number_of(place.dentry), number_of(place.mount));
}

/* Sessions that accept what stands there. */
static __always_inline __u64 subtree_sessions(struct iotr_control *page, __u64 stand)
{
	return page->path_nodes[STAND_NODE(stand)].sessions;
}

/* A place with dentry 0 is below no folder. */
static __always_inline __u64 filter_place(struct iotr_control *page, __u64 sessions, struct place place)
{
	if (!(sessions & page->filtered[IOTR_FILTER_PATH]))
		return sessions;
	return filter_accepted(page, sessions, IOTR_FILTER_PATH,
			       place.dentry ? subtree_sessions(page, subtree_find(place)) : 0);
}

/* The same of an open file, or 0: none. */
static __always_inline __u64 filter_file(struct iotr_control *page, __u64 sessions, __u64 file)
{
	struct place none = {};

	return filter_place(page, sessions, file ? place_of_file(file) : none);
}
