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

/*
 * The parts of one step upwards, each a function of its own, verified once: in the loop they would
 * be verified for each level.
 */

/* The node that a dentry's inode is, or 0. Of a dentry without an inode it reads zeros, as which there is no node. */
__noinline __u64 subtree_node(__u64 dentry)
{
	struct iotr_control *page = control_page();
	__u64 inode = (__u64)READ(struct dentry, dentry, d_inode);

	if (!page || !path_hinted(page, READ(struct inode, inode, i_ino)))
		return 0;
	return path_node(number_of(inode));
}

__noinline __u64 subtree_is_mount_root(__u64 dentry, __u64 mount)
{
	return dentry == number_of((__u64)READ(struct vfsmount, mount, mnt_root));
}

__noinline __u64 subtree_dentry_above(__u64 dentry, __u64 mount, __u64 mount_root)
{
	struct place place = { dentry, mount };

	return number_of(place_above(place, mount_root).dentry);
}

/* Above the root of a mount. */
__noinline __u64 subtree_mount_above(__u64 dentry, __u64 mount)
{
	struct place place = { dentry, mount };

	return number_of(place_above(place, true).mount);
}

/* Where a dentry of a mount stands. A function of its own, verified once. */
__noinline __u64 subtree_find_at(__u64 dentry, __u64 mount)
{
	__u64 node, root, above, depth = number_of(0); /* unknown to the verifier, lest each depth is a state of its own */

	for (int level = 0; level < IOTR_PATH_LEVELS && dentry; level++) {
		node = subtree_node(dentry);
		if (node)
			return STAND(node, depth);
		root = subtree_is_mount_root(dentry, mount);
		above = subtree_dentry_above(dentry, mount, root);
		if (root)
			mount = subtree_mount_above(dentry, mount);
		else
			depth = number_of(depth + 1); /* what a mount's root is mounted on is the same part of the path */
		dentry = above;
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
