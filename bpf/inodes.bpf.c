// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The inode of calls that name a file by its path. It is read where the kernel calls the LSM hook of
 * the operation or, for what the call creates, where the file system function returns, and put into
 * the call's slot. Function level only.
 */
#include "files.bpf.h"
#include "slots.bpf.h"

static __always_inline void inode_note(struct slot *slot, struct dentry *dentry)
{
	struct inode *inode = READ(struct dentry, dentry, d_inode);

	if (!inode)
		return;
	slot->file.inode = READ(struct inode, inode, i_ino);
	slot->file.device = READ(struct super_block, READ(struct dentry, dentry, d_sb), s_dev);
}

/* Takes the first inode of a call: those that follow are a stacked file system's, of the one below it. */
static __always_inline int inode_found(struct dentry *dentry)
{
	struct slot *slot = slot_find(thread_here());

	if (slot && slot->sessions && !slot->has_fd && slot->file.inode == IOTR_UNKNOWN)
		inode_note(slot, dentry);
	return 0;
}

/* Takes the last inode of a call: a stacked file system creates those in the one below it before its own. */
static __always_inline int inode_made(struct dentry *dentry)
{
	struct slot *slot = slot_find(thread_here());

	if (!slot || !slot->sessions || slot->has_fd)
		return 0;
	slot->file.inode = IOTR_UNKNOWN;
	slot->file.device = 0;
	inode_note(slot, dentry);
	return 0;
}

/*
 * FOUND(hook, program, arguments...) and MADE(function, program, arguments...), one of which is `dentry`. Where kernels
 * differ in the arguments, the program of each variant is named __N by their number.
 */
#define FOUND(hook, program, ...)                  \
	SEC("fentry/" #hook)                       \
	int BPF_PROG(program, __VA_ARGS__)         \
	{                                          \
		return inode_found(dentry);        \
	}

#define MADE(function, program, ...)               \
	SEC("fexit/" #function)                    \
	int BPF_PROG(program, __VA_ARGS__)         \
	{                                          \
		return inode_made(dentry);         \
	}

FOUND(security_inode_unlink, inode_unlink, struct inode *folder, struct dentry *dentry)
FOUND(security_inode_rmdir, inode_rmdir, struct inode *folder, struct dentry *dentry)
FOUND(security_inode_link, inode_link, struct dentry *dentry)
FOUND(security_inode_rename, inode_rename, struct inode *folder, struct dentry *dentry)
FOUND(security_inode_setattr, inode_setattr__2, struct dentry *dentry)
FOUND(security_inode_setattr, inode_setattr__3, void *idmap, struct dentry *dentry)
FOUND(security_inode_readlink, inode_readlink, struct dentry *dentry)
FOUND(security_inode_getxattr, inode_getxattr, struct dentry *dentry)
FOUND(security_inode_listxattr, inode_listxattr, struct dentry *dentry)
FOUND(security_inode_setxattr, inode_setxattr__5, struct dentry *dentry)
FOUND(security_inode_setxattr, inode_setxattr__6, void *idmap, struct dentry *dentry)
FOUND(security_inode_removexattr, inode_removexattr__2, struct dentry *dentry)
FOUND(security_inode_removexattr, inode_removexattr__3, void *idmap, struct dentry *dentry)

/* For ustat this is the root of the file system. */
FOUND(security_sb_statfs, inode_statfs, struct dentry *dentry)

/* For mknod of regular files. Kernels with 4 arguments have them in one of two orders, so those are left out. */
MADE(vfs_create, inode_create__5, void *idmap, struct inode *folder, struct dentry *dentry)
MADE(vfs_mknod, inode_mknod__5, void *idmap, struct inode *folder, struct dentry *dentry)
MADE(vfs_mknod, inode_mknod__6, void *idmap, struct inode *folder, struct dentry *dentry)
MADE(vfs_mkdir, inode_mkdir__3, struct inode *folder, struct dentry *dentry)
MADE(vfs_mkdir, inode_mkdir__4, void *idmap, struct inode *folder, struct dentry *dentry)
MADE(vfs_mkdir, inode_mkdir__5, void *idmap, struct inode *folder, struct dentry *dentry)
MADE(vfs_symlink, inode_symlink__3, struct inode *folder, struct dentry *dentry)
MADE(vfs_symlink, inode_symlink__4, void *idmap, struct inode *folder, struct dentry *dentry)
MADE(vfs_symlink, inode_symlink__5, void *idmap, struct inode *folder, struct dentry *dentry)

char LICENSE[] SEC("license") = "GPL";
