/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter by path: whether a file lies in a folder, by the folders above it as they are now, so
 * that it makes no difference when it was opened, or what its path was before. A folder is identified
 * by its inode. Few folders on the way are in the tree, so hints spare most map lookups.
 *
 * The stand of a file is its nearest folder in the tree of struct iotr_path_node (bits 0 to 15), and
 * the number of levels that it is below that (from bit 16 on); 0: it is below no folder of the tree.
 */
#pragma once

#include "files.bpf.h"

#define STAND(node, depth)   ((__u64)(node) | (__u64)(depth) << 16)
#define STAND_NODE(stand)    ((__u32)(stand) & (IOTR_PATH_NODES - 1))
#define STAND_DEPTH(stand)   ((__u32)((stand) >> 16) & 0xffff)

/* The node of an inode, or 0. */
static __always_inline __u64 path_node(struct iotr_control *page, __u64 inode)
{
	struct iotr_path_inode key = { .inode = READ(struct inode, inode, i_ino) };
	__u32 hint = page->path_hints[key.inode & (IOTR_HINTS - 1)] & (IOTR_PATH_NODES - 1), *node;

	if (!hint)
		return 0;
	key.device = device_of(number_of(inode), (__u64)READ(struct inode, inode, i_sb));
	if (page->path_nodes[hint].inode == key.inode && page->path_nodes[hint].device == key.device)
		return hint;
	node = bpf_map_lookup_elem(&path_inodes, &key); /* the hint is of another inode with the same low bits */
	return node ? *node : 0;
}

#define STEP_NODE(node) ((node) << 1) /* a result that is lower than any address */
#define STEP_MOUNT	1	      /* set in the result if it is a mount point: the step left a mount */

/*
 * One step upwards: the node of a dentry's inode as STEP_NODE(), if there is one; otherwise the dentry
 * above, 0: none. A global function, as in the loop it would be verified for each level. For a dentry
 * without an inode it reads zeros, which match no node.
 */
__noinline __u64 subtree_step(__u64 dentry, __u64 mount)
{
	struct iotr_control *page = control_page();
	__u64 inode = (__u64)READ(struct dentry, dentry, d_inode), node;
	struct place place = { dentry, mount };

	node = page ? path_node(page, inode) : 0;
	if (node)
		return STEP_NODE(node);
	if (is_mount_root(place))
		return place_above(place, true).dentry | STEP_MOUNT;
	return place_above(place, false).dentry;
}

/* The mount (struct vfsmount) that the mount with this root is mounted in. A global function. */
__noinline __u64 subtree_mount_above(__u64 dentry, __u64 mount)
{
	struct place place = { dentry, mount };

	return place_above(place, true).mount;
}

/* The stand of a dentry of a mount. A global function. */
__noinline __u64 subtree_find_at(__u64 dentry, __u64 mount)
{
	__u64 step, depth = number_of(0); /* not a constant for the verifier, which would track each depth as a state */

	for (int level = 0; level < IOTR_PATH_LEVELS && dentry; level++) {
		step = subtree_step(dentry, mount);
		if (step & STEP_MOUNT)
			mount = subtree_mount_above(dentry, mount);
		else if (step && step < STEP_NODE(IOTR_PATH_NODES))
			return STAND(step >> 1, depth);
		else
			depth = number_of(depth + 1); /* not at a mount's root, the same component as its mount point */
		dentry = step & ~STEP_MOUNT;
	}
	return 0;
}

static __always_inline __u64 subtree_find(struct place place)
{
	return subtree_find_at(place.dentry, place.mount);
}

/* Sessions whose path filter accepts a stand. */
static __always_inline __u64 subtree_sessions(struct iotr_control *page, __u64 stand)
{
	return page->path_nodes[STAND_NODE(stand)].sessions;
}

/* Applies path filters to a place; dentry 0: it is below no folder. */
static __always_inline __u64 filter_place(struct iotr_control *page, __u64 sessions, struct place place)
{
	if (!(sessions & page->filtered[IOTR_FILTER_PATH]))
		return sessions;
	return filter_accepted(page, sessions, IOTR_FILTER_PATH,
			       place.dentry ? subtree_sessions(page, subtree_find(place)) : 0);
}

/* The same for an open file; 0: none. */
static __always_inline __u64 filter_file(struct iotr_control *page, __u64 sessions, __u64 file)
{
	struct place none = {};

	if (!(sessions & page->filtered[IOTR_FILTER_PATH]))
		return sessions; /* before the place is read */
	return filter_place(page, sessions, file ? place_of_file(file) : none);
}
