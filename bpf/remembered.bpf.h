/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of an open file by its dentry: inode number, device, and the id of its name, so that the way up to the root
 * is not walked again for a file that is used again. It holds as long as nothing can have changed:
 *
 * - A component gets another name or parent under rename_lock, and a mount another place under mount_lock. The sequence
 *   numbers of both are odd meanwhile, and larger afterwards. They are read before the walk; if they were even, and are the
 *   same today, no such change has begun since.
 * - What the walk met may be given up, and its memory be used for others: dentries, the inode, mounts. Memory of these is
 *   free after a grace period of RCU that begins when they were given up already. So the kernel's number of grace periods
 *   has changed by then, which is read before the walk, too: if it is the same today, all of them are still what they were.
 * - Dentries whose memory is free at once (of pipes, sockets, memfd) are in no hash table, and neither are those of deleted
 *   files, whose names have ids of their own. What is in none is not remembered.
 *
 * Files of pseudo file systems are not remembered. Entries are of a CPU. Programs of system calls are never preempted; others may
 * be, and use remembered_held() and remember_held().
 */
#pragma once

#include "files.bpf.h"

extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

#define REMEMBERED 256 /* files of a CPU; a power of two */

/* What the kernel counts, see above. */
struct epoch {
	__u64 graces; /* RCU's grace periods */
	__u32 renames, mounts; /* sequence numbers of the two locks */
};

struct remembered {
	__u64 dentry, mount, inode; /* addresses, which stand for the file */
	__u64 name; /* id; 0: what follows is not valid yet */
	struct epoch then; /* when it was filled in */
	__u64 number; /* of the inode */
	__u64 device; /* as in struct iotr_file */
};

ARRAY_PER_CPU(remembered, struct remembered, REMEMBERED);

#define NOT_NOW 1 /* as number of renames: odd, so that nothing is remembered */

#define GRACES_ARE_COUNTED bpf_core_type_exists(struct rcu_state)
#define GRACES_OFFSET	   bpf_core_field_offset(struct rcu_state, gp_seq)

/*
 * The number of grace periods, of which there are two, and it makes no difference which one is kept and which one is compared
 * with it. The kernel's own has no type. A copy of a program, where it has rcu_data (see IOTR_COPY_RCU_DATA), reads that of the node
 * of its CPU by typed loads: it is set to the kernel's at the beginning of each grace period, before the period waits for any CPU
 * of the node, and at its end, and so is never ahead.
 */
static __always_inline __u64 graces_now(const struct iotr_control *page)
{
	struct rcu_data *data;

	if (TYPES_ARE_FOLLOWED) {
		asm("%0 = %1 ll" : "=r"(data) : "i"(IOTR_COPY_RCU_DATA));
		if ((__u64)data != IOTR_COPY_RCU_DATA) {
			data = bpf_this_cpu_ptr(data);
			return data->mynode->gp_seq;
		}
	}
	return word_at(page->changes.rcu_state + GRACES_OFFSET);
}

static __always_inline struct epoch epoch_now(const struct iotr_control *page)
{
	const struct iotr_changes *at = &page->changes;
	struct epoch now;

	if (typed_reads) { /* one branch for all; a field so far behind in a struct has no load of its own */
		now.renames = CAST(struct timespec64, at->rename_lock)->tv_sec;
		now.mounts = CAST(struct timespec64, at->mount_lock)->tv_sec;
		now.graces = CAST(struct timespec64, at->rcu_state + GRACES_OFFSET)->tv_sec;
		return now;
	}
	now.renames = word_at(at->rename_lock);
	now.mounts = word_at(at->mount_lock);
	now.graces = graces_now(page);
	return now;
}

static __always_inline struct remembered *remembered_entry(struct place place)
{
	__u32 index = low_half(place.dentry) >> 6 & (REMEMBERED - 1);

	return bpf_map_lookup_elem(&remembered, &index);
}

/*
 * Fills in what is remembered of a file, and returns whether anything is. If not, remember() is to be called when all is known
 * of it, unless it is on a pseudo file system; a file is remembered from its second use on.
 * `hashed`: not 0, or its dentry is in no hash table. Neither place nor inode need be numbers (see number_of()).
 */
static __always_inline bool remembered_fill(const struct iotr_control *page, struct place place, __u64 inode, __u64 hashed,
					    struct iotr_file *ret)
{
	struct remembered *entry;
	struct epoch now;

	if (!GRACES_ARE_COUNTED || !page->changes.rcu_state)
		return false;
	entry = remembered_entry(place);
	if (!entry)
		return false;
	if (entry->dentry != place.dentry || entry->mount != place.mount || entry->inode != inode || !hashed) {
		entry->dentry = place.dentry;
		entry->mount = place.mount;
		entry->inode = inode;
		entry->name = 0;
		entry->then.renames = NOT_NOW;
		return false;
	}
	now = epoch_now(page);
	if (entry->then.graces != now.graces || entry->then.renames != now.renames || entry->then.mounts != now.mounts) {
		entry->name = 0;
		entry->then = now;
	}
	if (!entry->name)
		return false;
	ret->inode = entry->number;
	ret->device = entry->device;
	ret->name = entry->name;
	return true;
}

static __always_inline void remember(struct place place, const struct iotr_file *file)
{
	struct remembered *entry = remembered_entry(place);

	if (!entry || entry->dentry != place.dentry || entry->mount != place.mount || (entry->then.renames | entry->then.mounts) & 1)
		return;
	entry->number = file->inode;
	entry->device = file->device;
	entry->name = file->name;
}

/* ---- in programs that the kernel may preempt ---- */

#define REMEMBERS (!preempted || may_hold)

/* Where an open file is, and the moment at which what is remembered of it was looked at. */
struct opened {
	struct place place;
	struct epoch then;
};

/*
 * The same as remembered_fill(), where REMEMBERS. `then`: for remember_held(). No other thread's program comes in between while an
 * entry is looked at; one may until the name has been found out, and leave there what it has found.
 */
static __always_inline bool remembered_held(const struct iotr_control *page, struct place place, __u64 inode, __u64 hashed,
					    struct iotr_file *ret, struct epoch *then)
{
	bool known;

	if (!preempted)
		return remembered_fill(page, place, inode, hashed, ret);
	*then = (struct epoch){ .renames = NOT_NOW };
	bpf_preempt_disable();
	known = remembered_fill(page, place, inode, hashed, ret);
	if (!known)
		*then = epoch_now(page);
	bpf_preempt_enable();
	return known;
}

/* The same as remember(), unless the entry is of another moment than remembered_held() has seen. */
static __always_inline void remember_held(struct place place, const struct iotr_file *file, const struct epoch *then)
{
	struct remembered *entry;

	if (!preempted) {
		remember(place, file);
		return;
	}
	bpf_preempt_disable();
	entry = remembered_entry(place);
	if (entry && entry->then.graces == then->graces && entry->then.renames == then->renames && entry->then.mounts == then->mounts)
		remember(place, file);
	bpf_preempt_enable();
}
