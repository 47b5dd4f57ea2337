/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of files. A name's id is a hash of all that the path of a place consists of now: every
 * component up to the root, and the mount point of each mount. So a path that has changed has another
 * id, even if no program saw the change, and an unchanged path keeps its id. `known` has the ids that
 * were sent to the daemon, so each path is sent once. An entry may be overwritten by another id: then
 * the name is sent again, with the same id.
 */
#pragma once

#include "devices.bpf.h"
#include "mix.h"
#include "siphash.bpf.h"

#define NAME_LEVELS 256	    /* maximum of levels that go into an id */
#define SEND_LEVELS 64	    /* maximum of levels sent at once: the verifier checks each, in every program */
#define ID_MOUNT    1	    /* goes into an id for the root of a mount */
#define NAME_TRIES  2	    /* attempts to send a path that changes meanwhile */
#define NAME_SHORT  32	    /* bytes of text in the small kind of name record */
#define NAME_TEXT   64	    /* in the one that holds most path arguments; a power of two, as the next */
#define NAME_LONG   256	    /* and in the one that holds any component */

#define EFAULT 14

#define S_IFMT	 0170000
#define S_IFDIR	 0040000

/* A place in the file hierarchy, as struct path: addresses as numbers, never kept after the program's run. */
struct place {
	__u64 dentry;
	__u64 mount; /* struct vfsmount */
};

/* A component of a path, laid out as struct dentry is from d_parent on. */
struct component {
	__u64 parent;
	__u64 hash_len; /* hash and length of its text */
};

/* Where a mount is mounted, laid out as struct mount is from mnt_parent on. */
struct mounted {
	__u64 parent; /* struct mount; the topmost is its own parent */
	__u64 point;  /* dentry of the mount point */
};

#define FOLLOWS(type, first, field, distance)                                                   \
	(bpf_core_field_offset(type, field) == bpf_core_field_offset(type, first) + (distance))

/* Reads both members with one helper call where the kernel's layout is the same, otherwise one by one. */
static __always_inline void component_read(__u64 dentry, struct component *ret)
{
	if (FOLLOWS(struct dentry, d_parent, d_name, offsetof(struct component, hash_len))) {
		bpf_probe_read_kernel(ret, sizeof(*ret),
				      (void *)dentry + bpf_core_field_offset(struct dentry, d_parent));
		return;
	}
	ret->parent = ADDRESS(struct dentry, dentry, d_parent);
	ret->hash_len = ADDRESS(struct dentry, dentry, d_name.hash_len);
}

/* The same for a struct mount. */
static __always_inline void mounted_read(__u64 mount, struct mounted *ret)
{
	if (!typed_reads && FOLLOWS(struct mount, mnt_parent, mnt_mountpoint, offsetof(struct mounted, point))) {
		bpf_probe_read_kernel(ret, sizeof(*ret),
				      (void *)mount + bpf_core_field_offset(struct mount, mnt_parent));
		return;
	}
	ret->parent = ADDRESS(struct mount, mount, mnt_parent);
	ret->point = ADDRESS(struct mount, mount, mnt_mountpoint);
}

static __always_inline __u64 mount_of(__u64 vfsmount)
{
	return vfsmount - bpf_core_field_offset(struct mount, mnt);
}

/* The low half of an address as a number: the verifier takes no arithmetic on typed pointers. */
static __always_inline __u64 low_half(__u64 address)
{
	__u64 number;

	asm volatile("r0 = %1; w0 = w0; %0 = r0" : "=r"(number) : "r"(address) : "r0");
	return number;
}

static __always_inline __u64 mount_root(__u64 vfsmount)
{
	return ADDRESS(struct vfsmount, vfsmount, mnt_root);
}

/* 0: the dentry is in no hash table; otherwise what precedes it there. */
static __always_inline __u64 hashed_after(__u64 dentry)
{
	return typed_reads ? (__u64)CAST(struct dentry, dentry)->d_hash.pprev : ADDRESS(struct dentry, dentry, d_hash.pprev);
}

static __always_inline bool unhashed(__u64 dentry)
{
	return !hashed_after(dentry);
}

/* The part of an id that is of the file: its inode number, and whether it is deleted (the dentry unhashed). */
static __always_inline __u64 name_file(__u64 dentry)
{
	__u64 inode = ADDRESS(struct dentry, dentry, d_inode);

	return iotr_mix(unhashed(dentry), inode ? READ(struct inode, inode, i_ino) : 0);
}

/* Mixes the walk up to the root into an id, by typed loads: a level costs a few instructions. */
static __always_inline __u64 way_typed(__u64 id, __u64 dentry, __u64 vfsmount)
{
	struct dentry *here = CAST(struct dentry, dentry), *above, *root;
	struct mount *mount = CAST(struct mount, mount_of(vfsmount)), *parent;

	root = mount->mnt.mnt_root;
	for (int level = 0; level < NAME_LEVELS; level++) {
		if (here == root) {
			id = iotr_mix(id, ID_MOUNT);
			parent = mount->mnt_parent;
			if (parent == mount)
				break;
			here = mount->mnt_mountpoint;
			mount = parent;
			root = mount->mnt.mnt_root;
			continue;
		}
		id = iotr_mix(id, here->d_name.hash_len);
		above = here->d_parent;
		if (above == here)
			break;
		here = above;
	}
	return iotr_mix(id, number_of((__u64)here));
}

/* The same with one helper call for each level. */
static __always_inline __u64 way_read(__u64 id, __u64 dentry, __u64 vfsmount)
{
	__u64 mount = mount_of(vfsmount), root = mount_root(vfsmount);
	union { /* one at a time, as the stack is limited */
		struct component component;
		struct mounted mounted;
	} at;

	for (int level = 0; level < NAME_LEVELS; level++) {
		if (dentry == root) {
			id = iotr_mix(id, ID_MOUNT);
			mounted_read(mount, &at.mounted);
			if (at.mounted.parent == mount)
				break;
			dentry = at.mounted.point;
			mount = at.mounted.parent;
			root = ADDRESS(struct mount, mount, mnt.mnt_root);
			continue;
		}
		component_read(dentry, &at.component);
		id = iotr_mix(id, at.component.hash_len);
		if (at.component.parent == dentry)
			break;
		dentry = at.component.parent;
	}
	return iotr_mix(id, dentry);
}

/*
 * The id of a place: a hash of its file and of every component upwards, across mounts. A component goes
 * in as the kernel's hash of its text, which is salted with the address of the parent dentry. The root of
 * a mount has no text: the walk goes on at its mount point. A global function.
 */
__noinline __u64 name_id_at(__u64 dentry, __u64 vfsmount)
{
	__u64 id = name_file(dentry);

	id = typed_reads ? way_typed(id, dentry, vfsmount) : way_read(id, dentry, vfsmount);
	return id ?: 1;
}

static __always_inline __u64 name_id(struct place place)
{
	return name_id_at(place.dentry, place.mount);
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

/* Marks an id as known (`value` is the id) or as not known (0). A global function. */
__noinline int name_mark_set(__u64 id, __u64 value)
{
	__u64 *mark = name_mark(id);

	if (mark && (value || *mark == id))
		*mark = value;
	return 0;
}

/* The same as name_known(), for callers with little stack left. A global function. */
__noinline int name_known_at(__u64 id)
{
	return name_known(id);
}

/* Whether a mount is in no mount namespace: it is internal to the kernel, or detached. */
static __always_inline bool mount_unseen(__u64 vfsmount)
{
	__u64 owner = ADDRESS(struct mount, mount_of(vfsmount), mnt_ns);

	return !owner || owner >= (__u64)-4095;
}

/* The place above; dentry 0: `place` is the root. The place above a mount's root is the mount point. */
static __always_inline struct place place_above(struct place place, bool at_root)
{
	struct place above = {};
	struct mounted mounted;

	if (!at_root) {
		above.dentry = ADDRESS(struct dentry, place.dentry, d_parent);
		above.mount = place.mount;
		if (above.dentry == place.dentry)
			above.dentry = 0;
		return above;
	}
	mounted_read(mount_of(place.mount), &mounted);
	if (mounted.parent == mount_of(place.mount))
		return above;
	above.dentry = mounted.point;
	above.mount = mounted.parent + bpf_core_field_offset(struct mount, mnt);
	return above;
}

static __always_inline bool is_mount_root(struct place place)
{
	return place.dentry == mount_root(place.mount);
}

/* Fills in what the record of a name says of its file. */
static __noinline int name_fill(struct iotr_name_record *name, __u64 dentry)
{
	__u64 inode = ADDRESS(struct dentry, dentry, d_inode), sb;

	__builtin_memset(name, 0, sizeof(*name));
	if (!inode)
		return 0;
	sb = ADDRESS(struct inode, inode, i_sb);
	name->inode = READ(struct inode, inode, i_ino);
	if ((READ(struct inode, inode, i_mode) & S_IFMT) == S_IFDIR)
		name->flags = IOTR_NAME_DIRECTORY;
	name->device = device_of(inode, sb);
	bpf_probe_read_kernel_str(name->fs_type, sizeof(name->fs_type),
				  READ(struct file_system_type, READ(struct super_block, sb, s_type), name));
	return 0;
}

/*
 * Sends one component. Its text is empty at a mount's root, and "/" at the root; `parent` 0: there is nothing
 * above. Returns false if the ring is full. A global function.
 */
__noinline int name_send(__u64 dentry, __u64 mount, __u64 id, __u64 parent, __u32 flags)
{
	bool at_root = dentry == mount_root(mount);
	__u32 length = at_root ? !parent : READ(struct dentry, dentry, d_name.len);
	struct iotr_name_record *name;

	if (length >= NAME_LONG)
		length = NAME_LONG - 1;
	if (length < NAME_SHORT) {
		name = bpf_ringbuf_reserve(&names, sizeof(*name) + NAME_SHORT, 0);
		if (!name)
			return false;
		name_fill(name, dentry);
		if (at_root)
			name->text[0] = '/';
		else
			bpf_probe_read_kernel_str(name->text, NAME_SHORT, READ(struct dentry, dentry, d_name.name));
	} else {
		name = bpf_ringbuf_reserve(&names, sizeof(*name) + NAME_LONG, 0);
		if (!name)
			return false;
		name_fill(name, dentry);
		bpf_probe_read_kernel_str(name->text, NAME_LONG, READ(struct dentry, dentry, d_name.name));
	}
	name->length = length;
	name->id = id;
	name->parent = parent;
	name->flags |= flags;
	if (!at_root && parent && unhashed(dentry))
		name->flags |= IOTR_NAME_DELETED;
	bpf_ringbuf_submit(name, BPF_RB_NO_WAKEUP);
	return true;
}

/* place_above() in two global functions, which return a number each. */
__noinline __u64 dentry_above(__u64 dentry, __u64 mount)
{
	struct place place = { dentry, mount };

	return place_above(place, is_mount_root(place)).dentry;
}

__noinline __u64 mount_above(__u64 dentry, __u64 mount)
{
	struct place place = { dentry, mount };

	return place_above(place, is_mount_root(place)).mount;
}

static __always_inline struct place above(struct place place)
{
	struct place next = {
		.dentry = dentry_above(place.dentry, place.mount),
		.mount = mount_above(place.dentry, place.mount),
	};

	return next;
}

/*
 * Sends the names of a path that are not known, from a place upwards, or marks them as known. After a name
 * and its parent's id were read, the id is taken again: if it is the same, what was sent is what the id
 * stands for. Otherwise the id is marked as not known, so that the next program with that id sends it.
 */
static __always_inline bool names_walk(struct place place, __u64 id, bool mark)
{
	struct place next;
	__u64 parent;

	for (int level = 1; level <= SEND_LEVELS; level++) {
		next = above(place);
		parent = next.dentry ? name_id(next) : 0;
		if (!mark && !name_send(place.dentry, place.mount, id, parent,
					level == SEND_LEVELS ? IOTR_NAME_CUT : 0))
			return false;
		if (name_id(place) != id) {
			name_mark_set(id, 0);
			return false;
		}
		if (mark)
			name_mark_set(id, id);
		if (!parent || name_known_at(parent))
			return true;
		place = next;
		id = parent;
	}
	return true;
}

/* A global function. */
__noinline int names_mark(__u64 dentry, __u64 mount, __u64 id)
{
	return names_walk((struct place){ dentry, mount }, id, true);
}

/*
 * The id of a place's name; sends the name first if it is not known. Names are marked only after all of the
 * path was sent, so that on every CPU a known name is one whose parents were sent. A global function.
 */
__noinline __u64 name_at(__u64 dentry, __u64 mount)
{
	struct place place = { dentry, mount };
	__u64 id = 0;

	for (int tries = 0; tries < NAME_TRIES && dentry; tries++) {
		id = name_id(place);
		if (name_known_at(id))
			break;
		if (names_walk(place, id, false)) {
			names_mark(dentry, mount, id);
			break;
		}
	}
	return id;
}

/* The same, without a call if the name is known. */
static __always_inline __u64 name_of(struct place place)
{
	__u64 id = place.dentry ? name_id(place) : 0;

	return !id || name_known(id) ? id : name_at(place.dentry, place.mount);
}

static __always_inline __u64 name_of_place(struct place place)
{
	return name_at(place.dentry, place.mount);
}

/*
 * The id of a text below `parent`: nobody who does not know the key can make two texts have the same. The text lies in a
 * record that has `room` bytes for it, which is a power of two up to 256, and is shorter.
 */
static __always_inline __u64 text_id(__u64 parent, const struct iotr_name_record *name, __u32 room, __u32 length)
{
	struct siphash hash = siphash_begin(text_key[0], text_key[1]);
	__u32 words = (length & (room - 1)) / sizeof(__u64);
	__u64 last = *(const __u64 *)(name->text + words * sizeof(last));

	last &= (1ULL << length % sizeof(last) * 8) - 1; /* behind the text is what the ring had there before */
	last |= (__u64)length << 56;
	siphash_word(&hash, parent);
	asm volatile("%0 &= 255" : "+r"(words)); /* for the verifier it is not known afterwards at which word the loop ended */
	for (__u32 word = 0; word < words && word < room / sizeof(last); word++)
		siphash_word(&hash, *(const __u64 *)(name->text + word * sizeof(last)));
	siphash_word(&hash, last);
	return siphash_end(&hash) | 1;
}

/* An id that no other name has, for a text that is too long to be known again. */
static __always_inline __u64 text_id_fresh(__u64 user)
{
	return iotr_mix(iotr_mix(bpf_ktime_get_ns(), bpf_get_current_pid_tgid()), user) | 1;
}

/* Sends a record with a text that was read, unless it is known. */
static __always_inline void text_send(struct iotr_name_record *name, __u64 parent, __u64 id, __u32 length)
{
	if (name_known_at(id)) {
		bpf_ringbuf_discard(name, BPF_RB_NO_WAKEUP);
		return;
	}
	__builtin_memset(name, 0, sizeof(*name));
	name->id = id;
	name->parent = parent;
	name->flags = IOTR_NAME_ARGUMENT;
	name->length = length;
	bpf_ringbuf_submit(name, BPF_RB_NO_WAKEUP);
	name_mark_set(id, id);
}

/*
 * The id of the text of a call's argument, as a name below `parent`; sends it first if it is not known. IOTR_NAME_LOST: the
 * text is not in memory, or the ring is full. It is read into the ring, where nothing else can overwrite it before its id is
 * made. Most texts are short, so the smallest record is tried first. A global function.
 */
__noinline __u64 name_of_text(__u64 parent, __u64 user)
{
	struct iotr_name_record *name;
	__u32 room = NAME_TEXT;
	__u64 id;
	long length;

	name = bpf_ringbuf_reserve(&names, sizeof(*name) + NAME_TEXT, 0);
	if (!name)
		return IOTR_NAME_LOST;
	length = bpf_probe_read_user_str(name->text, NAME_TEXT, (void *)user);
	if (length == NAME_TEXT) { /* may have been cut */
		bpf_ringbuf_discard(name, BPF_RB_NO_WAKEUP);
		name = bpf_ringbuf_reserve(&names, sizeof(*name) + NAME_LONG, 0);
		if (!name)
			return IOTR_NAME_LOST;
		length = bpf_probe_read_user_str(name->text, NAME_LONG, (void *)user);
		room = NAME_LONG;
	}
	if (length == NAME_LONG) {
		bpf_ringbuf_discard(name, BPF_RB_NO_WAKEUP);
		name = bpf_ringbuf_reserve(&names, sizeof(*name) + IOTR_NAME_TEXT_MAX, 0);
		if (!name)
			return IOTR_NAME_LOST;
		length = bpf_probe_read_user_str(name->text, IOTR_NAME_TEXT_MAX, (void *)user);
		room = 0;
	}
	if (length < 0) {
		bpf_ringbuf_discard(name, BPF_RB_NO_WAKEUP);
		return IOTR_NAME_LOST;
	}
	length -= length > 0; /* the NUL; older kernels return 0, not 1, for an empty string */
	id = room ? text_id(parent, name, room, length) : text_id_fresh(user);
	text_send(name, parent, id, length);
	return id;
}

/* The name of a text for a row: none (0) instead of lost if the kernel could not read it either (EFAULT). */
static __always_inline __u64 name_told(__u64 id, __s64 result)
{
	return id == IOTR_NAME_LOST && result == -EFAULT ? 0 : id;
}
