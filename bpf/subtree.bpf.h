/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter by path: whether a file lies in a folder, by the folders above it as they are now, so
 * that it makes no difference when it was opened, or what it was called before. A folder is known
 * by its inode. One that is looked up is rare among those passed, which hints sort out.
 *
 * Where a file stands is told as its nearest folder in the tree of struct iotr_path_node, and how
 * far below that it is; 0: below none.
 */
#pragma once

#include "files.bpf.h"

#define STAND(node, depth)   ((__u64)(node) | (__u64)(depth) << 16)
#define STAND_NODE(stand)    ((__u32)(stand) & (IOTR_PATH_NODES - 1))
#define STAND_DEPTH(stand)   ((__u32)((stand) >> 16) & 0xffff)

/* The node that an inode is, or 0. */
static __always_inline __u64 path_node(struct iotr_control *page, __u64 inode)
{
	struct iotr_path_inode key = { .inode = READ(struct inode, inode, i_ino) };
	__u32 hint = page->path_hints[key.inode & (IOTR_HINTS - 1)] & (IOTR_PATH_NODES - 1), *node;

	if (!hint)
		return 0;
	key.device = READ(struct super_block, READ(struct inode, inode, i_sb), s_dev);
	if (page->path_nodes[hint].inode == key.inode && page->path_nodes[hint].device == key.device)
		return hint;
	node = bpf_map_lookup_elem(&path_inodes, &key); /* another one with the same low bits */
	return node ? *node : 0;
}

#define STEP_NODE(node) ((node) << 1) /* no address is as low */
#define STEP_MOUNT	1	      /* set in the address of a dentry that a mount is mounted on */

/*
 * One step upwards: the node that a dentry's inode is, when it is one; else the dentry above, or 0:
 * none. A function of its own, verified once: in the loop it would be verified for each level. Of a
 * dentry without an inode it reads zeros, as which there is no node.
 */
__noinline __u64 subtree_step(__u64 dentry, __u64 mount)
{
	struct iotr_control *page = control_page();
	__u64 inode = (__u64)READ(struct dentry, dentry, d_inode), node;
	struct place place = { dentry, mount };

	node = page ? path_node(page, inode) : 0;
	if (node)
		return STEP_NODE(node);
	if (dentry == number_of((__u64)READ(struct vfsmount, mount, mnt_root)))
		return number_of(place_above(place, true).dentry) | STEP_MOUNT;
	return number_of(place_above(place, false).dentry);
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
	__u64 step, depth = number_of(0); /* unknown to the verifier, lest each depth is a state of its own */

	for (int level = 0; level < IOTR_PATH_LEVELS && dentry; level++) {
		step = subtree_step(dentry, mount);
		if (step & STEP_MOUNT)
			mount = subtree_mount_above(dentry, mount);
		else if (step && step < STEP_NODE(IOTR_PATH_NODES))
			return STAND(step >> 1, depth);
		else
			depth = number_of(depth + 1); /* what a mount's root is mounted on is the same part of the path */
		dentry = step & ~STEP_MOUNT;
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
