// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The inode of calls that name a file by its path: what the path led to is seen where the kernel
 * asks whether the call is allowed, or, for what the call creates, where it has done so. It goes
 * into the call's slot. Function level only.
 */
#include "files.bpf.h"
#include "slots.bpf.h"

static __always_inline int inode_found(struct dentry *dentry)
{
	struct slot *slot = slot_find(thread_here());
	struct inode *inode;

	if (!slot || !slot->sessions || slot->has_fd || slot->file.inode != IOTR_UNKNOWN)
		return 0;
	inode = READ(struct dentry, dentry, d_inode);
	if (!inode)
		return 0;
	slot->file.inode = READ(struct inode, inode, i_ino);
	slot->file.device = READ(struct super_block, READ(struct dentry, dentry, d_sb), s_dev);
	return 0;
}

SEC("fentry/security_inode_unlink")
int BPF_PROG(inode_unlink, struct inode *folder, struct dentry *dentry)
{
	return inode_found(dentry);
}

SEC("fentry/security_inode_rmdir")
int BPF_PROG(inode_rmdir, struct inode *folder, struct dentry *dentry)
{
	return inode_found(dentry);
}

SEC("fentry/security_inode_link")
int BPF_PROG(inode_link, struct dentry *dentry)
{
	return inode_found(dentry);
}

SEC("fentry/security_inode_rename")
int BPF_PROG(inode_rename, struct inode *folder, struct dentry *dentry)
{
	return inode_found(dentry);
}

SEC("fentry/security_inode_setattr")
int BPF_PROG(inode_setattr__2, struct dentry *dentry)
{
	return inode_found(dentry);
}

SEC("fentry/security_inode_setattr")
int BPF_PROG(inode_setattr__3, void *idmap, struct dentry *dentry)
{
	return inode_found(dentry);
}

SEC("fexit/vfs_mkdir")
int BPF_PROG(inode_mkdir__3, struct inode *folder, struct dentry *dentry)
{
	return inode_found(dentry);
}

SEC("fexit/vfs_mkdir")
int BPF_PROG(inode_mkdir__4, void *idmap, struct inode *folder, struct dentry *dentry)
{
	return inode_found(dentry);
}

SEC("fexit/vfs_mkdir")
int BPF_PROG(inode_mkdir__5, void *idmap, struct inode *folder, struct dentry *dentry)
{
	return inode_found(dentry);
}

SEC("fexit/vfs_symlink")
int BPF_PROG(inode_symlink__3, struct inode *folder, struct dentry *dentry)
{
	return inode_found(dentry);
}

SEC("fexit/vfs_symlink")
int BPF_PROG(inode_symlink__4, void *idmap, struct inode *folder, struct dentry *dentry)
{
	return inode_found(dentry);
}

SEC("fexit/vfs_symlink")
int BPF_PROG(inode_symlink__5, void *idmap, struct inode *folder, struct dentry *dentry)
{
	return inode_found(dentry);
}

char LICENSE[] SEC("license") = "GPL";
