/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a place (dentry and mount) of an inode by the inode's list of dentries. */
#pragma once

#include "files.bpf.h"

#define MOUNTS_MAX 16 /* maximum of mounts of one file system that are looked at */

static __always_inline bool shows_all(__u64 mount, __u64 sb, __u64 root)
{
	return mount && (__u64)READ(struct vfsmount, mount, mnt_sb) == sb &&
	       (__u64)READ(struct vfsmount, mount, mnt_root) == root;
}

/*
 * The mount after `mount` in the super block's list, or the first one if that is 0; 0: none. There is
 * one function for each kind of list; they are not inlined, as the compiler would hoist offsets of
 * fields that a kernel lacks out of their branch.
 */
static __noinline __u64 mount_next_linked(__u64 sb, __u64 mount)
{
	if (mount)
		return (__u64)READ(struct mount, mount_of(mount), mnt_next_for_sb);
	return (__u64)READ(struct super_block, sb, s_mounts);
}

static __noinline __u64 mount_next_listed(__u64 sb, __u64 mount)
{
	__u64 next, head;

	head = sb + bpf_core_field_offset(struct super_block___612, s_mounts);
	if (mount)
		next = (__u64)READ(struct mount___612, mount_of(mount), mnt_instance.next);
	else
		next = (__u64)READ(struct super_block___612, sb, s_mounts.next);
	return next == head ? 0 : next - bpf_core_field_offset(struct mount___612, mnt_instance);
}

static __always_inline __u64 mount_next(__u64 sb, __u64 mount)
{
	if (HAS_MOUNT_CHAIN)
		return mount_next_linked(sb, mount);
	return mount_next_listed(sb, mount);
}

/*
 * A mount that shows the whole of a file system: that of the task's working directory or root if it
 * does, otherwise the first such one in the super block's list; 0: none.
 */
static __always_inline __u64 mount_for(__u64 sb)
{
	struct fs_struct *fs = FOLLOW(current_task(), fs);
	__u64 root = (__u64)READ(struct super_block, sb, s_root), mount;

	if (fs) {
		mount = (__u64)READ(struct fs_struct, fs, pwd.mnt);
		if (shows_all(mount, sb, root))
			return mount;
		mount = (__u64)READ(struct fs_struct, fs, root.mnt);
		if (shows_all(mount, sb, root))
			return mount;
	}
	mount = 0;
	for (int i = 0; i < MOUNTS_MAX; i++) {
		__u64 next = mount_next(sb, mount);

		if (!next)
			break;
		mount = next + bpf_core_field_offset(struct mount, mnt);
		if (shows_all(mount, sb, root))
			return mount;
	}
	return 0;
}

/* The dentry of an entry in an inode's list. Each offset stays in its branch, as a kernel lacks one of them. */
static __always_inline __u64 dentry_of_alias(__u64 alias)
{
	__u64 offset;

	if (HAS_DENTRY_ALIAS) {
		offset = bpf_core_field_offset(struct dentry, d_alias);
		barrier_var(offset);
	} else {
		offset = bpf_core_field_offset(struct dentry___612, d_u.d_alias);
		barrier_var(offset);
	}
	return alias - offset;
}

/* The place of an inode's first dentry; dentry 0: it has none, or no mount shows its file system. */
static __always_inline struct place place_of_alias(__u64 inode)
{
	__u64 alias = ADDRESS(struct inode, inode, i_dentry.first);
	__u64 sb = (__u64)READ(struct inode, inode, i_sb);
	struct place place = {};

	if (!alias || !sb)
		return place;
	place.mount = number_of(mount_for(sb));
	if (place.mount)
		place.dentry = dentry_of_alias(alias);
	return place;
}
