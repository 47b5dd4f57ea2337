/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and their names. A name's id is a fingerprint of everything that makes the path of a
 * dentry what it is; `known` marks the ids that were sent, so a path travels once per file. A
 * mark may be overwritten by another name: then the name is sent again, with the same id.
 */
#pragma once

#include "iotracer.bpf.h"
#include "mix.h"

#define NAME_LEVELS 256	    /* folders a walk goes up at most */
#define NAME_SHORT  32	    /* bytes of text in the small kind of name record */
#define NAME_LONG   256	    /* and in the one that holds any component */

#define BDEVFS_MAGIC 0x62646576

#define S_IFMT	 0170000
#define S_IFCHR	 0020000
#define S_IFDIR	 0040000
#define S_IFIFO	 0010000
#define S_IFSOCK 0140000

/* A place in the tree of files: addresses, read but never kept beyond one program run. */
struct place {
	__u64 dentry;
	__u64 mount; /* struct vfsmount */
};

/* Where a walk upwards has come to, whose it is, and the epoch of its ids, which may change meanwhile. */
struct walk {
	struct place here;
	__u64 thread;
	__u64 epoch;
};

ARRAY_PER_CPU(walk, struct walk, 1);

static __always_inline bool unhashed(__u64 dentry)
{
	return !READ(struct dentry, dentry, d_hash.pprev);
}

/* The low half of an address as a number: the verifier takes no arithmetic on typed pointers. */
static __always_inline __u64 low_half(__u64 address)
{
	__u64 number;

	asm volatile("r0 = %1; w0 = w0; %0 = r0" : "=r"(number) : "r"(address) : "r0");
	return number;
}

/* The id of a place: its dentry, what that is called, its inode, and whether it is deleted. */
static __always_inline __u64 name_id(__u64 epoch, struct place place)
{
	struct dentry *parent = READ(struct dentry, place.dentry, d_parent);
	struct inode *inode = READ(struct dentry, place.dentry, d_inode);
	__u64 id = iotr_mix(epoch, low_half(place.dentry));

	id = iotr_mix(id, (__u64)unhashed(place.dentry) << 32 | low_half(place.mount));
	id = iotr_mix(id, (__u64)READ(struct dentry, place.dentry, d_name.len) << 32 | low_half((__u64)parent));
	id = iotr_mix(id, READ(struct dentry, place.dentry, d_name.hash));
	if (inode)
		id = iotr_mix(id, READ(struct inode, inode, i_ino) ^
					  (__u64)READ(struct inode, inode, i_generation) << 32);
	return id ?: 1;
}

static __always_inline __u64 *name_mark(__u64 id)
{
	__u32 index = (__u32)id & (IOTR_KNOWN - 1);

	return bpf_map_lookup_elem(&known, &index);
}

static __always_inline bool name_known(__u64 id)
{
	__u64 *mark = name_mark(id);

	return mark && *mark == id;
}

static __always_inline struct mount *mount_of(__u64 vfsmount)
{
	return (struct mount *)(vfsmount - bpf_core_field_offset(struct mount, mnt));
}

/* The place above, with dentry 0 above the root. Crosses from a mount's root to where it is mounted. */
static __always_inline struct place place_above(struct place place, bool mount_root)
{
	struct place above = {};
	struct mount *mount, *parent;

	if (!mount_root) {
		above.dentry = (__u64)READ(struct dentry, place.dentry, d_parent);
		above.mount = place.mount;
		if (above.dentry == place.dentry)
			above.dentry = 0;
		return above;
	}
	mount = mount_of(place.mount);
	parent = READ(struct mount, mount, mnt_parent);
	if (parent == mount)
		return above;
	above.dentry = (__u64)READ(struct mount, mount, mnt_mountpoint);
	above.mount = (__u64)parent + bpf_core_field_offset(struct mount, mnt);
	return above;
}

static __always_inline void name_fill(struct iotr_name_record *name, __u64 id, __u64 parent,
				      struct place place, __u32 length, __u16 flags)
{
	__u64 inode = (__u64)READ(struct dentry, place.dentry, d_inode);
	__u64 sb = inode ? (__u64)READ(struct inode, inode, i_sb) : 0;
	__u64 type = sb ? (__u64)READ(struct super_block, sb, s_type) : 0;

	__builtin_memset(name, 0, sizeof(*name));
	name->id = id;
	name->parent = parent;
	name->length = length;
	name->flags = flags;
	if (!inode)
		return;
	name->inode = READ(struct inode, inode, i_ino);
	if ((READ(struct inode, inode, i_mode) & S_IFMT) == S_IFDIR)
		name->flags |= IOTR_NAME_DIRECTORY;
	name->device = READ(struct super_block, sb, s_dev);
	bpf_probe_read_kernel_str(name->fs_type, sizeof(name->fs_type),
				  READ(struct file_system_type, type, name));
}

/* Sends one component. The text of a mount's root is empty, that of the root is "/". */
static __always_inline bool name_send(__u64 id, __u64 parent, struct place place, bool mount_root,
				      __u16 flags)
{
	__u32 length = mount_root ? !parent : READ(struct dentry, place.dentry, d_name.len);
	const void *text = READ(struct dentry, place.dentry, d_name.name);
	struct iotr_name_record *name;

	if (length >= NAME_LONG)
		length = NAME_LONG - 1;
	if (length < NAME_SHORT) {
		name = bpf_ringbuf_reserve(&names, sizeof(*name) + NAME_SHORT, 0);
		if (!name)
			return false;
		name_fill(name, id, parent, place, length, flags);
		if (mount_root)
			name->text[0] = '/';
		else
			bpf_probe_read_kernel_str(name->text, NAME_SHORT, text);
	} else {
		name = bpf_ringbuf_reserve(&names, sizeof(*name) + NAME_LONG, 0);
		if (!name)
			return false;
		name_fill(name, id, parent, place, length, flags);
		bpf_probe_read_kernel_str(name->text, NAME_LONG, text);
	}
	bpf_ringbuf_submit(name, BPF_RB_NO_WAKEUP);
	return true;
}

/* The walk under way, unless another thread took the CPU and walked itself. */
static __always_inline struct walk *walk_find(void)
{
	__u32 zero = 0;
	struct walk *walker = bpf_map_lookup_elem(&walk, &zero);

	return walker && walker->thread == bpf_get_current_pid_tgid() ? walker : NULL;
}

/*
 * Sends the name of the place in `walk`, and puts the place above there. 1: that is next; 0: it is
 * known, or there is none; -1: not sent. A function of its own, with its input in memory, so that the
 * verifier looks at it once.
 */
__noinline int names_step(__u32 last)
{
	struct walk *walker = walk_find();
	struct place place, above;
	__u64 id, parent;
	bool mount_root;
	__u16 flags;

	if (!walker)
		return -1;
	place = walker->here;
	mount_root = place.dentry == (__u64)READ(struct vfsmount, place.mount, mnt_root);
	above = place_above(place, mount_root);
	id = name_id(walker->epoch, place);
	parent = above.dentry ? name_id(walker->epoch, above) : 0;
	flags = !mount_root && above.dentry && unhashed(place.dentry) ? IOTR_NAME_DELETED : 0;
	if (last)
		flags |= IOTR_NAME_CUT;
	if (!name_send(id, parent, place, mount_root, flags))
		return -1;
	walker = walk_find(); /* rather than kept, as the stack is short */
	if (!walker)
		return -1;
	walker->here = above;
	return parent && !name_known(parent);
}

/* The same to mark what was sent as known. */
__noinline int names_mark(void)
{
	struct walk *walker = walk_find();
	struct place place;
	__u64 id, *mark;

	if (!walker)
		return -1;
	place = walker->here;
	id = name_id(walker->epoch, place);
	mark = name_mark(id);
	if (mark)
		*mark = id;
	place = place_above(place, place.dentry == (__u64)READ(struct vfsmount, place.mount, mnt_root));
	walker->here = place;
	return place.dentry && !name_known(name_id(walker->epoch, place));
}

static __always_inline bool names_begin(struct place place, __u64 epoch)
{
	__u32 zero = 0;
	struct walk *walker = bpf_map_lookup_elem(&walk, &zero);

	if (!walker)
		return false;
	walker->here = place;
	walker->thread = bpf_get_current_pid_tgid();
	walker->epoch = epoch;
	return true;
}

/*
 * Sends what is not known of a path, from a place upwards. Only then is it marked: a name that is
 * known is one whose way to the root has been sent, whatever CPU asks.
 */
static __always_inline void names_walk(struct place place, __u64 epoch)
{
	int next = 1;

	if (!names_begin(place, epoch))
		return;
	for (__u32 level = 1; level <= NAME_LEVELS && next > 0; level++)
		next = names_step(level == NAME_LEVELS);
	if (next < 0 || !names_begin(place, epoch))
		return;
	next = 1;
	for (__u32 level = 1; level <= NAME_LEVELS && next > 0; level++)
		next = names_mark();
}

/* The id of a place's name; sends the name when it is not known yet. */
static __always_inline __u64 name_of(struct iotr_control *page, struct place place)
{
	__u64 epoch = page->epoch, id;

	if (!place.dentry)
		return 0;
	id = name_id(epoch, place);
	if (!name_known(id))
		names_walk(place, epoch);
	return id;
}

/* The same for the place in `walk`, verified once: for all that is not done millions of times a second. */
__noinline __u64 name_here(void)
{
	struct iotr_control *page = control_page();
	__u32 zero = 0;
	struct walk *walker = bpf_map_lookup_elem(&walk, &zero);

	return page && walker ? name_of(page, walker->here) : 0;
}

static __always_inline __u64 name_of_place(struct place place)
{
	__u32 zero = 0;
	struct walk *walker = bpf_map_lookup_elem(&walk, &zero);

	if (!walker)
		return 0;
	walker->here = place;
	return name_here();
}

/* Text of a call's argument as a name of its own, below `parent`. 0 when it cannot be read. */
static __always_inline __u64 name_of_text(__u64 parent, const void *user)
{
	struct iotr_name_record *name;
	__u64 id;
	long length;

	name = bpf_ringbuf_reserve(&names, sizeof(*name) + NAME_LONG, 0);
	if (!name)
		return 0;
	length = bpf_probe_read_user_str(name->text, NAME_LONG, user);
	if (length == NAME_LONG) { /* may have been cut */
		bpf_ringbuf_discard(name, BPF_RB_NO_WAKEUP);
		name = bpf_ringbuf_reserve(&names, sizeof(*name) + IOTR_NAME_TEXT_MAX, 0);
		if (!name)
			return 0;
		length = bpf_probe_read_user_str(name->text, IOTR_NAME_TEXT_MAX, user);
	}
	if (length < 0) {
		bpf_ringbuf_discard(name, BPF_RB_NO_WAKEUP);
		return 0;
	}
	id = iotr_mix(iotr_mix(bpf_ktime_get_ns(), bpf_get_current_pid_tgid()), (__u64)user) | 1;
	__builtin_memset(name, 0, sizeof(*name));
	name->id = id;
	name->parent = parent;
	name->flags = IOTR_NAME_TRANSIENT;
	name->length = length ? length - 1 : 0; /* older kernels do not count the end of an empty string */
	bpf_ringbuf_submit(name, BPF_RB_NO_WAKEUP);
	return id;
}

/* File systems that hold no files of a user: left out unless a session asks for them. */
static __always_inline bool pseudo_magic(__u64 magic)
{
	switch (magic) {
	case 0x9fa0:	 /* proc */
	case 0x62656572: /* sysfs */
	case 0x534f434b: /* sockfs */
	case 0x50495045: /* pipefs */
	case 0x09041934: /* anon_inodefs */
	case 0x74726163: /* tracefs */
	case 0x64626720: /* debugfs */
	case 0x73636673: /* securityfs */
	case 0x62656570: /* configfs */
	case 0xcafe4a11: /* bpf */
	case 0x27e0eb:	 /* cgroup */
	case 0x63677270: /* cgroup2 */
	case 0x1cd1:	 /* devpts */
	case 0x19800202: /* mqueue */
	case 0x6e736673: /* nsfs */
	case 0x50494446: /* pidfs */
	case 0x6165676c: /* pstore */
	case 0xde5e81e4: /* efivarfs */
	case 0x42494e4d: /* binfmt_misc */
	case 0xf97cff8c: /* selinuxfs */
	case 0x65735543: /* fusectl */
	case 0x19830326: /* resctrl */
	case 0x454d444d: /* dma-buf */
		return true;
	default:
		return false;
	}
}

static __always_inline bool pseudo_inode(__u64 inode, __u64 sb)
{
	__u32 kind = READ(struct inode, inode, i_mode) & S_IFMT;

	return kind == S_IFCHR || kind == S_IFSOCK || pseudo_magic(READ(struct super_block, sb, s_magic));
}

static __always_inline bool pseudo_place(struct place place)
{
	__u64 inode = place.dentry ? (__u64)READ(struct dentry, place.dentry, d_inode) : 0;

	return inode && pseudo_inode(inode, (__u64)READ(struct dentry, place.dentry, d_sb));
}

/* An open file of the current process, or 0. */
static __always_inline __u64 file_of_fd(struct task_struct *task, __u32 fd)
{
	struct files_struct *files = READ(struct task_struct, task, files);
	struct fdtable *table;
	__u64 file = 0;

	if (!files)
		return 0;
	table = READ(struct files_struct, files, fdt);
	if (fd >= READ(struct fdtable, table, max_fds))
		return 0;
	/* An array of pointers has no type of its own to be read through; a number is a number. */
	if (typed_reads)
		return READ(struct timespec64, READ(struct fdtable, table, fd) + fd, tv_sec);
	bpf_probe_read_kernel(&file, sizeof(file), READ(struct fdtable, table, fd) + fd);
	return file;
}

/* What a row says of an open file, but for its name. Returns whether it is on a pseudo file system. */
static __always_inline bool file_fill(__u64 file, struct iotr_file *ret)
{
	__u64 inode = (__u64)READ(struct file, file, f_inode);
	__u64 sb = (__u64)READ(struct inode, inode, i_sb);

	ret->inode = READ(struct inode, inode, i_ino);
	ret->device = READ(struct super_block, sb, s_dev);
	ret->flags = READ(struct file, file, f_flags);
	return pseudo_inode(inode, sb);
}

/* The same of a place. */
static __always_inline void place_fill(struct place place, struct iotr_file *ret)
{
	struct inode *inode = place.dentry ? READ(struct dentry, place.dentry, d_inode) : NULL;

	if (!inode)
		return;
	ret->inode = READ(struct inode, inode, i_ino);
	ret->device = READ(struct super_block, READ(struct dentry, place.dentry, d_sb), s_dev);
}

static __always_inline struct place place_of_file(__u64 file)
{
	struct place place = {
		.dentry = (__u64)READ(struct file, file, f_path.dentry),
		.mount = (__u64)READ(struct file, file, f_path.mnt),
	};

	return place;
}
