/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who made pages of the page cache dirty. It is noted whenever a clean page becomes dirty, which the kernel does in the
 * context of whom it charges in write_bytes of /proc/PID/io, and looked up when the page is written.
 *
 * An entry is of a task and of DIRTIED_GROUP pages that follow each other in a file, with a bit for each of them that the task
 * made dirty: so a page takes two bytes of the table where its neighbours are dirty, too, and the table mostly is in the caches
 * of a CPU. A group of pages has one bucket of DIRTIED_WAYS entries; the buckets of a file's groups follow each other, from a
 * place that its address_space hashes to. When a page is written, it is marked: it can still be looked up, as a request that
 * was merged or cloned carries it again, but an entry of which all pages are so gives way to any other. Where there is no such
 * entry, as where many tasks write to one group, pages spill over into a second table, which has entries of one page: see
 * spilled.bpf.h. The daemon makes all tables when it attaches the programs (see daemon/probes/dirtied.h), so nothing is told
 * from a time in which nobody noted.
 *
 * The kernel makes pages of one file dirty one at a time (i_pages of its address_space is locked), so notes of one group do not
 * come together; a mark may, and be lost, so that an entry gives way later or earlier than it could. Notes of groups of two
 * files that share a bucket may come together, and want the same entry. Whoever comes last has it; the other one sees that, and
 * takes back what it noted: pages may then be of nobody who is known, but never of somebody else (see dirtied_enter()).
 */
#pragma once

#include "spilled.bpf.h"

#define DIRTIED_GROUP_SHIFT 5
#define DIRTIED_GROUP	    (1U << DIRTIED_GROUP_SHIFT) /* pages of a group */
#define DIRTIED_WAYS	    4
#define DIRTIED_SPILLED	    1U /* pages of the bucket's groups were in the second table */

struct dirtied {
	union {
		__u64 both; /* written at once, so that the one is never told with another's */
		struct {
			__u32 number; /* of the dirtier; 0: the entry was never used */
			__u32 tag; /* of the group; of the bucket's first entry, DIRTIED_SPILLED besides */
		};
	};
	__u32 pages; /* a bit for each page that is noted */
	__u32 written; /* of these: was written since */
};

struct dirtied_bucket {
	struct dirtied of[DIRTIED_WAYS];
};

_Static_assert(sizeof(struct dirtied_bucket) == IOTR_DIRTIED_SIZE, "the daemon makes a table of other values");

static __always_inline __u32 dirtied_tag(__u64 mapping, __u64 group)
{
	return (__u32)(iotr_mix(iotr_mix(0, mapping), group) >> 32) & ~DIRTIED_SPILLED;
}

static __always_inline bool dirtied_is(const struct dirtied *entry, __u32 tag)
{
	return (entry->tag & ~DIRTIED_SPILLED) == tag;
}

static __always_inline __u32 dirtied_bit(__u64 index)
{
	return 1U << (index & (DIRTIED_GROUP - 1));
}

/* The bucket of a group of pages; NULL: there is no table. */
static __always_inline struct dirtied_bucket *dirtied_bucket(const struct iotr_control *page, __u64 mapping, __u64 group)
{
	__u32 zero = 0, at = ((__u32)(iotr_mix(0, mapping) >> 32) + (__u32)group) & page->dirtied_mask;
	void *table = bpf_map_lookup_elem(&dirtied, &zero);

	return table ? bpf_map_lookup_elem(table, &at) : NULL;
}

/*
 * Index of an entry that may be used anew; DIRTIED_WAYS: none may. CPUs begin with different ones, so that two which need one
 * for groups of different files at the same moment do not take the same.
 */
static __always_inline __u32 dirtied_free(const struct dirtied_bucket *bucket)
{
	__u32 first = bpf_get_smp_processor_id();

	for (__u32 i = 0; i < DIRTIED_WAYS; i++) {
		const struct dirtied *entry = &bucket->of[(first + i) & (DIRTIED_WAYS - 1)];

		if (!(entry->pages & ~entry->written))
			return (first + i) & (DIRTIED_WAYS - 1);
	}
	return DIRTIED_WAYS;
}

/* Notes pages of one group in the second table, or takes them out of it. A global function. */
__noinline int dirtied_spill(__u64 mapping, __u64 group, __u32 number, __u32 bits)
{
	for (__u32 i = 0; i < DIRTIED_GROUP; i++)
		if (bits >> i & 1) {
			if (number)
				spilled_put(mapping, (group << DIRTIED_GROUP_SHIFT) + i, number, false);
			else
				spilled_drop(mapping, (group << DIRTIED_GROUP_SHIFT) + i);
		}
	return 0;
}

/*
 * Notes pages in an entry, which is of the group and the dirtier, or becomes so. All of them are written after whose the entry
 * is, and whose it is is read after them: if another CPU takes the entry meanwhile, either it clears these pages, or it is seen
 * here. The atomic addition is the barrier in between, which is needed where the entry was free for others to take.
 */
static __always_inline void dirtied_enter(struct iotr_control *page, struct dirtied *entry, __u32 tag, __u32 number, __u32 bits)
{
	bool ours = dirtied_is(entry, tag) && entry->number == number, free = !(entry->pages & ~entry->written);
	__u64 spilled = (__u64)(entry->tag & DIRTIED_SPILLED) << 32, whose = (__u64)tag << 32 | number;

	if (ours) {
		entry->written &= ~bits;
		*(volatile __u32 *)&entry->pages |= bits;
	} else {
		*(volatile __u64 *)&entry->both = spilled;
		*(volatile __u32 *)&entry->pages = 0;
		*(volatile __u32 *)&entry->written = 0;
		*(volatile __u64 *)&entry->both = whose | spilled;
		*(volatile __u32 *)&entry->pages = bits;
	}
	if (free) /* in assembly, as the compiler would make another atomic operation of it, which 5.10 lacks */
		asm volatile("lock *(u32 *)(%0 + %1) += %2" ::"r"(entry), "i"(offsetof(struct dirtied, written)), "r"(0)
			     : "memory");
	if ((*(volatile __u64 *)&entry->both & ~((__u64)DIRTIED_SPILLED << 32)) == whose)
		return;
	*(volatile __u32 *)&entry->pages &= ~bits;
	__sync_fetch_and_add(&page->dirtied_forgotten, __builtin_popcount(bits));
}

/* Notes pages of one group, as bits, for who has a number, and for nobody else any more. A global function. */
__noinline int dirtied_put(__u64 mapping, __u64 group, __u32 number, __u32 bits)
{
	__u32 tag = dirtied_tag(mapping, group), mine = DIRTIED_WAYS;
	struct iotr_control *page = control_page();
	struct dirtied_bucket *bucket = page ? dirtied_bucket(page, mapping, group) : NULL;
	struct dirtied *entry;
	bool spills;

	if (!bucket)
		return 0;
	for (__u32 at = 0; at < DIRTIED_WAYS; at++) {
		entry = &bucket->of[at];
		if (!dirtied_is(entry, tag))
			continue;
		if (entry->number == number)
			mine = at;
		else if (entry->pages & bits)
			entry->pages &= ~bits;
	}
	spills = mine == DIRTIED_WAYS && (mine = dirtied_free(bucket)) == DIRTIED_WAYS;
	if (spills)
		bucket->of[0].tag |= DIRTIED_SPILLED;
	if (bucket->of[0].tag & DIRTIED_SPILLED)
		dirtied_spill(mapping, group, spills ? number : 0, bits);
	if (spills)
		return 0;
	dirtied_enter(page, &bucket->of[mine & (DIRTIED_WAYS - 1)], tag, number, bits);
	return 0;
}

/* The entry of the bucket in which a page is noted, or NULL. */
static __always_inline struct dirtied *dirtied_find(struct dirtied_bucket *bucket, __u32 tag, __u32 bit)
{
	for (__u32 at = 0; at < DIRTIED_WAYS; at++)
		if (dirtied_is(&bucket->of[at], tag) && bucket->of[at].pages & bit)
			return &bucket->of[at];
	return NULL;
}

/* The number of the dirtier of a page that is written, or 0. */
static __always_inline __u32 dirtied_by(const struct iotr_control *page, __u64 mapping, __u64 index)
{
	__u64 group = index >> DIRTIED_GROUP_SHIFT;
	struct dirtied_bucket *bucket = dirtied_bucket(page, mapping, group);
	__u32 tag = dirtied_tag(mapping, group), bit = dirtied_bit(index), number;
	struct dirtied *entry = bucket ? dirtied_find(bucket, tag, bit) : NULL;

	if (!entry)
		return bucket && bucket->of[0].tag & DIRTIED_SPILLED ? spilled_by(page, mapping, index) : 0;
	number = *(volatile __u32 *)&entry->number;
	if (!(*(volatile __u32 *)&entry->pages & bit) || !dirtied_is(entry, tag))
		return 0; /* it became another's meanwhile */
	if (!(entry->written & bit))
		entry->written |= bit;
	return number;
}

/* Whether a page is noted that was not seen written since. */
static __always_inline bool dirtied_waits(const struct iotr_control *page, __u64 mapping, __u64 index)
{
	__u64 group = index >> DIRTIED_GROUP_SHIFT;
	struct dirtied_bucket *bucket = dirtied_bucket(page, mapping, group);
	__u32 bit = dirtied_bit(index);
	struct dirtied *entry = bucket ? dirtied_find(bucket, dirtied_tag(mapping, group), bit) : NULL;

	if (!entry)
		return bucket && bucket->of[0].tag & DIRTIED_SPILLED && spilled_waits(page, mapping, index);
	return !(entry->written & bit);
}

/* The bits of a group from a page on, at most so many. Returns how many in `taken`. */
static __always_inline __u32 dirtied_bits(__u64 index, __u32 pages, __u32 *taken)
{
	__u32 from = index & (DIRTIED_GROUP - 1), count = DIRTIED_GROUP - from;

	if (count > pages)
		count = pages;
	*taken = count;
	return (__u32)(((1ULL << (count & 63)) - 1) << from);
}

#define DIRTIED_GROUPS 17 /* that dirtied_put_all() goes through */

/* Notes pages that follow each other, 512 at most. A global function. */
__noinline int dirtied_put_all(__u64 mapping, __u64 index, __u32 number, __u32 pages)
{
	for (int i = 0; i < DIRTIED_GROUPS && pages; i++) {
		__u32 taken, bits = dirtied_bits(index, pages, &taken);

		dirtied_put(mapping, index >> DIRTIED_GROUP_SHIFT, number, bits);
		index += taken;
		pages -= taken;
	}
	return 0;
}
