/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that a process sees on one file system, and whose pages are those of a file on another: overlayfs has them in a layer, and FUSE
 * may pass on what is read and written. Pages and requests name the inode below; their rows name the file that the process sees.
 * Which one that is, is known by
 *
 * - the open file that the system call in flight works on;
 * - a mapping of the inode, whose open file has the path that the process used;
 * - what was found so before, in a table. An entry says where the file was seen, and is valid as long as the same inode is there.
 *   Otherwise what it said last, as when pages are written of which the dentry above was given up.
 *
 * Nothing is looked for while no such file system is mounted.
 */
#pragma once

#include "aliases.bpf.h"
#include "context.bpf.h"
#include "files.bpf.h"

#define OVERLAYFS_MAGIC 0x794c7630
#define FUSE_MAGIC	0x65735546
#define BACKED		8192 /* inodes that are known at a time; a power of two */

/* Who sees an inode. Addresses are kept to be compared, or after they were found to be what they were. */
struct backed {
	__u64 real, real_number; /* the inode below, by address and number */
	__u64 inode, number; /* the inode that the process sees */
	__u64 dentry, mount; /* where */
	__u64 name; /* id of the name that it had last, 0: none was asked for */
	__u32 device;
	__u32 check; /* of all but the name, as two CPUs may write one entry */
};

ARRAY_OF(backed, struct backed, BACKED, 0);

/* Whether there may be such files at all. */
static __always_inline bool is_stacking(const struct iotr_control *page)
{
	const struct iotr_stacking *is = &page->stacking;

	return is->mounted || (is->overlay && (__u64)READ(struct file_system_type, is->overlay, fs_supers.first));
}

static __always_inline struct backed *backed_entry(__u64 inode)
{
	__u32 at = iotr_mix(0, low_half(inode)) >> 16 & (BACKED - 1);

	return bpf_map_lookup_elem(&backed, &at);
}

static __always_inline __u32 backed_check(const struct backed *entry)
{
	__u64 sum = iotr_mix(iotr_mix(entry->real, entry->real_number), iotr_mix(entry->inode, entry->number));

	return iotr_mix(sum, iotr_mix(iotr_mix(entry->dentry, entry->mount), entry->device)) >> 32;
}

/* The entry of an inode; NULL: there is none. */
static __always_inline struct backed *backed_known(__u64 inode)
{
	struct backed *entry = backed_entry(inode);

	if (!entry || entry->real != inode || entry->real_number != READ(struct inode, inode, i_ino) ||
	    entry->check != backed_check(entry))
		return NULL;
	return entry;
}

/* Notes where an inode is seen, in the entry itself, as the stack has little room. A global function. */
__noinline int backed_note(__u64 inode, __u64 dentry, __u64 mount)
{
	struct backed *entry = backed_entry(inode);
	__u64 seen = ADDRESS(struct dentry, dentry, d_inode);

	if (!entry || !seen)
		return 0;
	if (entry->real != inode)
		entry->name = 0;
	entry->real = inode;
	entry->real_number = READ(struct inode, inode, i_ino);
	entry->inode = seen;
	entry->number = READ(struct inode, seen, i_ino);
	entry->dentry = dentry;
	entry->mount = mount;
	entry->device = device_of(seen, ADDRESS(struct inode, seen, i_sb));
	entry->check = backed_check(entry);
	return 1;
}

/* Whether the file of an entry is still seen where it was. */
static __always_inline bool backed_holds(const struct backed *entry)
{
	__u64 seen = ADDRESS(struct dentry, entry->dentry, d_inode);

	return seen && seen == entry->inode && READ(struct inode, seen, i_ino) == entry->number &&
	       (__u64)READ(struct dentry, entry->dentry, d_sb) == ADDRESS(struct vfsmount, entry->mount, mnt_sb);
}

/* Whether an open file has its pages in an inode that is not its own. A global function. */
__noinline int stands_for(__u64 file, __u64 inode)
{
	__u64 own = ADDRESS(struct file, file, f_inode), private = ADDRESS(struct file, file, private_data), first, second;
	__u64 magic = own ? READ(struct super_block, READ(struct inode, own, i_sb), s_magic) : 0;
	struct iotr_control *page = control_page();

	if (!page || !private)
		return 0;
	if (magic == FUSE_MAGIC) {
		first = page->stacking.passthrough ? word_at(private + page->stacking.passthrough) : 0;
		return first && ADDRESS(struct file, first, f_inode) == inode;
	}
	if (magic != OVERLAYFS_MAGIC)
		return 0;
	if (ADDRESS(struct file, private, f_inode) == inode)
		return 1;
	/* From 6.13 on, two open files: what it was opened with and, if that was a lower one, the upper one. */
	first = word_at(private);
	second = word_at(private + sizeof(first));
	return (first && ADDRESS(struct file, first, f_inode) == inode) ||
	       (second && ADDRESS(struct file, second, f_inode) == inode);
}

static __always_inline __u64 file_if_of(struct task_struct *task, __u32 fd, __u64 inode, bool stacking)
{
	__u64 file = file_of_fd(task, fd);

	if (!file || ADDRESS(struct file, file, f_inode) == inode)
		return file;
	return stacking && stands_for(number_of(file), inode) ? file : 0;
}

/*
 * The open file by which the system call in flight accesses an inode, or 0: a descriptor is the first or
 * the second argument, and of a copy the third one. Outside of a call the registers have other values, which the inode check rejects.
 * A global function.
 */
__noinline __u64 file_of_call(__u64 inode)
{
	struct pt_regs *regs = user_registers();
	struct task_struct *task = current_task();
	struct iotr_control *page = control_page();
	bool compat = abi_of(task) == IOTR_ABI_COMPAT, stacking = page && is_stacking(page);
	__u64 file;

	file = file_if_of(task, compat ? REGISTER(regs, bx) : REGISTER(regs, di), inode, stacking);
	if (!file)
		file = file_if_of(task, compat ? REGISTER(regs, cx) : REGISTER(regs, si), inode, stacking);
	if (!file && stacking)
		file = file_if_of(task, REGISTER(regs, dx), inode, stacking);
	return number_of(file);
}

/* The mapping of a node in a tree of mappings, if it is of the current process. */
static __always_inline __u64 mapping_mine(__u64 node)
{
	__u64 mapping = node - bpf_core_field_offset(struct vm_area_struct, shared.rb), memory;

	memory = ADDRESS(struct task_struct, current_task(), mm);
	return node && memory && ADDRESS(struct vm_area_struct, mapping, vm_mm) == memory ? mapping : 0;
}

/*
 * An open file by which an inode is mapped, by the current process if that is seen at once; 0: it is not mapped. Others may change the
 * tree meanwhile: what is found must be of the inode. A global function.
 */
__noinline __u64 file_mapping(__u64 inode)
{
	__u64 pages = ADDRESS(struct inode, inode, i_mapping), node, mapping, file;

	node = pages ? ADDRESS(struct address_space, pages, i_mmap.rb_root.rb_node) : 0;
	if (!node)
		return 0;
	mapping = mapping_mine(node);
	if (!mapping)
		mapping = mapping_mine(ADDRESS(struct rb_node, node, rb_left));
	if (!mapping)
		mapping = mapping_mine(ADDRESS(struct rb_node, node, rb_right));
	if (!mapping)
		mapping = node - bpf_core_field_offset(struct vm_area_struct, shared.rb);
	file = ADDRESS(struct vm_area_struct, mapping, vm_file);
	return file && ADDRESS(struct file, file, f_inode) == inode ? file : 0;
}

/* Whether a process sees an inode as another one; its entry then says so. A global function. */
__noinline int backed_find(__u64 inode)
{
	__u64 file = inode ? file_of_call(inode) : 0, seen;
	struct backed *entry;
	struct place place;

	if (!inode || (file && ADDRESS(struct file, file, f_inode) == inode))
		return 0;
	if (file) {
		place = place_of_file(file);
		return backed_note(inode, number_of(place.dentry), number_of(place.mount));
	}
	entry = backed_known(inode);
	if (entry && backed_holds(entry))
		return 1;
	file = file_mapping(inode);
	place = file ? place_of_backing(file) : (struct place){};
	seen = place.dentry ? ADDRESS(struct dentry, place.dentry, d_inode) : 0;
	if (seen && seen != inode)
		return backed_note(inode, number_of(place.dentry), number_of(place.mount));
	return entry && entry->number;
}

/* The entry of an inode that a process sees as another one; NULL: none does. */
static __always_inline struct backed *backed_by(const struct iotr_control *page, __u64 inode)
{
	return inode && is_stacking(page) && backed_find(inode) ? backed_known(inode) : NULL;
}

/* Where it is seen; dentry 0: that is not known any more. */
static __always_inline struct place backed_place(const struct backed *entry)
{
	struct place place = {};

	if (backed_holds(entry)) {
		place.dentry = entry->dentry;
		place.mount = entry->mount;
	}
	return place;
}

static __always_inline __u64 backed_name(struct backed *entry)
{
	struct place place = backed_place(entry);

	if (place.dentry)
		entry->name = name_of_place(place);
	return entry->name;
}

static __always_inline void backed_tell(const struct backed *entry, struct iotr_file *ret)
{
	if (!entry || !entry->number)
		return;
	ret->inode = entry->number;
	ret->device = entry->device;
}

/* Sets inode and device of a row to what the process sees, if that is not the inode itself. */
static __always_inline void backed_fill(const struct iotr_control *page, __u64 inode, struct iotr_file *ret)
{
	backed_tell(backed_by(page, inode), ret);
}
