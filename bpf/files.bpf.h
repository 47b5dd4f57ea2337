/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open files: from the descriptor to the file, and what a row says of it. */
#pragma once

#include "devices.bpf.h"
#include "names.bpf.h"
#include "pseudo_fs.def"

#define BDEVFS_MAGIC 0x62646576
#define PROC_MAGIC   0x9fa0

#define S_IFCHR	 0020000
#define S_IFIFO	 0010000
#define S_IFREG	 0100000
#define S_IFSOCK 0140000

#define O_DIRECT 040000

/* Whether a super block is of pseudo_fs.def: recorded only by sessions in the mask `pseudo_fs`. */
static __always_inline bool pseudo_magic(__u64 magic)
{
#define PSEUDO_CASE(type, magic) case magic:
	switch (magic) {
	IOTR_PSEUDO_FS(PSEUDO_CASE)
		return true;
	default:
		return false;
	}
}

static __always_inline bool pseudo_inode(__u32 mode, __u64 magic)
{
	__u32 kind = mode & S_IFMT;

	return kind == S_IFCHR || kind == S_IFSOCK || pseudo_magic(magic);
}

static __always_inline bool pseudo_place(struct place place)
{
	__u64 inode = place.dentry ? (__u64)READ(struct dentry, place.dentry, d_inode) : 0;

	return inode && pseudo_inode(READ(struct inode, inode, i_mode),
				     READ(struct super_block, READ(struct dentry, place.dentry, d_sb), s_magic));
}

#define FDS_FIRST 64 /* NR_OPEN_DEFAULT, of a 64-bit kernel: open files of the first table, an array within the struct */

/* The head of a table of open files, laid out as struct fdtable is. */
struct table_head {
	__u32 count;
	__u64 files; /* address of an array of addresses */
};

static __always_inline void table_read(struct fdtable *table, struct table_head *ret)
{
	if (!TASK_IS_TYPED && FOLLOWS(struct fdtable, max_fds, fd, offsetof(struct table_head, files))) { /* by one call */
		READ_AT(ret, table, struct fdtable, max_fds);
		return;
	}
	ret->count = FOLLOW(table, max_fds);
	ret->files = (__u64)FOLLOW(table, fd);
}

/* An open file of the current process, or 0. The first table needs no look into it. */
static __always_inline __u64 file_of_fd(struct task_struct *task, __u32 fd)
{
	struct files_struct *files = FOLLOW(task, files);
	struct table_head head;
	struct fdtable *table;

	if (!files)
		return 0;
	table = FOLLOW(files, fdt);
	if (table == &files->fdtab) {
		if (fd >= FDS_FIRST)
			return 0;
		return word_at(number_of((__u64)files) + bpf_core_field_offset(struct files_struct, fd_array) +
			       fd * sizeof(void *));
	}
	table_read(table, &head);
	if (fd >= head.count)
		return 0;
	return word_at(head.files + fd * sizeof(void *)); /* BTF has no type to read an array of pointers by */
}

/*
 * Adds the first bit of an index, which is `bit` of it, to the address of an element, by a branch: for the verifier the index is a
 * constant on each way. The next bit is the first one then.
 */
#define INDEX_BIT(address, bits, bit)                                                           \
	asm volatile("if %1 s> -1 goto +1; %0 += %2; %1 <<= 1" : "+r"(address), "+r"(bits) : "i"((bit) * sizeof(void *)))

/*
 * The same as file_of_fd() for FOLLOW(), while the process has its first table of open files, as it does until a number is
 * above 63; NULL: it has another, or no such file. The elements of an array within a struct have a type, but only those whose
 * index is a constant for the verifier.
 */
static __always_inline struct file *file_followed(struct task_struct *task, __u32 fd)
{
	struct files_struct *files = task->files;
	__u64 bits = (__u64)fd << 58;

	if (!files || files->fdt != &files->fdtab || fd >= FDS_FIRST)
		return NULL;
	INDEX_BIT(files, bits, 32);
	INDEX_BIT(files, bits, 16);
	INDEX_BIT(files, bits, 8);
	INDEX_BIT(files, bits, 4);
	INDEX_BIT(files, bits, 2);
	INDEX_BIT(files, bits, 1);
	return files->fd_array[0];
}

/*
 * Fills in the flags of an open file, unless `ret` is NULL, where it is and, unless `hashed` is NULL, what hashed_after() tells of
 * its dentry. Returns its inode. None of the addresses need be a number yet.
 */
static __always_inline __u64 file_place(__u64 file, struct iotr_file *ret, struct place *place, __u64 *hashed)
{
	struct object_head head;
	struct dentry *dentry;
	struct file *typed;

	if (typed_reads) {
		typed = CAST(struct file, file);
		dentry = typed->f_path.dentry;
		if (ret)
			ret->flags = typed->f_flags;
		place->dentry = (__u64)dentry;
		place->mount = (__u64)typed->f_path.mnt;
		if (hashed)
			*hashed = (__u64)dentry->d_hash.pprev;
		return (__u64)typed->f_inode;
	}
	head_read(&head, file);
	if (ret)
		ret->flags = HEAD_FIELD(&head, struct file, file, f_flags);
	place->dentry = HEAD_ADDRESS(&head, struct file, file, f_path.dentry);
	place->mount = HEAD_ADDRESS(&head, struct file, file, f_path.mnt);
	if (hashed)
		*hashed = hashed_after(place->dentry);
	return HEAD_ADDRESS(&head, struct file, file, f_inode);
}

/* An open file by plain loads, where that can be done: fills in what file_place() tells. Returns it, or 0. */
static __always_inline __u64 opened_followed(struct task_struct *task, __u32 fd, struct iotr_file *ret, struct place *place,
					     __u64 *inode, __u64 *hashed)
{
	struct file *file = file_followed(task, fd);
	struct dentry *dentry;

	if (!file)
		return 0;
	dentry = file->f_path.dentry;
	ret->flags = file->f_flags;
	place->dentry = (__u64)dentry;
	place->mount = (__u64)file->f_path.mnt;
	*inode = (__u64)file->f_inode;
	*hashed = (__u64)dentry->d_hash.pprev;
	return number_of((__u64)file);
}

static __always_inline __u64 file_inode(__u64 file)
{
	return typed_reads ? (__u64)CAST(struct file, file)->f_inode : ADDRESS(struct file, file, f_inode);
}

/* Fills in inode number and device. Returns whether the inode is on a pseudo file system. */
static __always_inline bool inode_fill(__u64 inode, struct iotr_file *ret)
{
	struct object_head head;
	__u64 sb, magic;

	head_read(&head, inode);
	sb = (__u64)HEAD_FIELD(&head, struct inode, inode, i_sb);
	magic = READ(struct super_block, sb, s_magic);
	ret->inode = HEAD_FIELD(&head, struct inode, inode, i_ino);
	ret->device = device_by(magic, inode, sb);
	return pseudo_inode(HEAD_FIELD(&head, struct inode, inode, i_mode), magic);
}

/*
 * Fills in what a row says of an open file, except its name, and where the file is. Returns whether it is on a pseudo file
 * system.
 */
static __always_inline bool file_fill(__u64 file, struct iotr_file *ret, struct place *place)
{
	__u64 inode = number_of(file_place(file, ret, place, NULL));

	place->dentry = number_of(place->dentry);
	place->mount = number_of(place->mount);
	return inode_fill(inode, ret);
}

/* The same for callers with little stack left. */
static __noinline __attribute__((unused)) bool file_fill_apart(__u64 file, struct iotr_file *ret, struct place *place)
{
	return file_fill(file, ret, place);
}

/* Fills in inode and device of a place. */
static __always_inline void place_fill(struct place place, struct iotr_file *ret)
{
	struct inode *inode = place.dentry ? READ(struct dentry, place.dentry, d_inode) : NULL;

	if (!inode)
		return;
	ret->inode = READ(struct inode, inode, i_ino);
	ret->device = device_of(number_of((__u64)inode), (__u64)READ(struct dentry, place.dentry, d_sb));
}

static __always_inline struct place place_of_file(__u64 file)
{
	struct place place = {
		.dentry = ADDRESS(struct file, file, f_path.dentry),
		.mount = ADDRESS(struct file, file, f_path.mnt),
	};

	return place;
}

/*
 * The place of a file that may be one that a stacked file system opened in the one below, a backing_file, as of mappings and of direct
 * I/O: the path that the process used. Before 6.7 that is the path of any open file. overlayfs opens it by a mount of its own, FUSE by
 * that of who serves it. Another file has other data there, which is recognised as no place.
 */
static __always_inline struct place place_of_backing(__u64 file)
{
	struct place place = place_of_file(file), user;
	__u64 sb;

	if (!HAS_USER_PATH || !(control_page()->stacking.mounted || mount_unseen(place.mount)))
		return place;
	user.dentry = ADDRESS(struct backing_file, file, user_path.dentry);
	user.mount = ADDRESS(struct backing_file, file, user_path.mnt);
	sb = ADDRESS(struct dentry, user.dentry, d_sb);
	return sb && ADDRESS(struct vfsmount, user.mount, mnt_sb) == sb ? user : place;
}
