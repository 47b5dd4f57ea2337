/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages whose dirtier found no room in the table of dirtied.bpf.h, one by one. A page has two entries to choose from. Those of
 * one file's pages lie side by side, from two places that its address_space hashes to. When a page is written, its entry is
 * marked: it can still be looked up, but gives way to any other page. Where both entries are of other pages that were not seen
 * written, one of these is displaced, and counted as forgotten: its dirtier will not be known, unless the page was cut off or
 * is not written.
 */
#pragma once

#include "dirtier.bpf.h"

#define SPILLED_WRITTEN 1U /* in the high half of an entry: the page was written since it was noted */

/* The high half of a page's entry. */
static __always_inline __u32 spilled_tag(__u64 mapping, __u64 index)
{
	return (__u32)(iotr_mix(iotr_mix(0, mapping), index) >> 32) & ~SPILLED_WRITTEN;
}

union spilled {
	__u64 both;
	struct {
		__u32 number; /* of the dirtier; never 0 */
		__u32 tag;
	};
};

/* One of the two entries of a page, by `second`; NULL: there is no table. */
static __always_inline union spilled *spilled_entry(const struct iotr_control *page, __u64 mapping, __u64 index, bool second)
{
	__u64 hash = iotr_mix(0, mapping);
	__u32 zero = 0, at;
	void *table = bpf_map_lookup_elem(&spilled, &zero);

	if (second)
		hash = iotr_mix(hash, 0);
	at = ((__u32)(hash >> 32) + (__u32)index) & page->spilled_mask;

	return table ? bpf_map_lookup_elem(table, &at) : NULL;
}

static __always_inline bool spilled_is(const union spilled *entry, __u32 tag)
{
	return (entry->tag & ~SPILLED_WRITTEN) == tag && entry->number;
}

static __always_inline bool spilled_is_free(const union spilled *entry)
{
	return !entry->number || entry->tag & SPILLED_WRITTEN;
}

/* The entry in which a page is noted; NULL: none. What it was of may be forgotten for that. */
static __always_inline union spilled *spilled_take(struct iotr_control *page, __u64 mapping, __u64 index, __u32 tag)
{
	union spilled *first = spilled_entry(page, mapping, index, false), *second;

	if (!first || spilled_is(first, tag) || spilled_is_free(first))
		return first;
	second = spilled_entry(page, mapping, index, true);
	if (!second || spilled_is(second, tag) || spilled_is_free(second))
		return second;
	__sync_fetch_and_add(&page->dirtied_forgotten, 1);
	return tag & (SPILLED_WRITTEN << 1) ? first : second;
}

/* The entry that a page was noted in last, or NULL. */
static __always_inline union spilled *spilled_find(const struct iotr_control *page, __u64 mapping, __u64 index)
{
	__u32 tag = spilled_tag(mapping, index);
	union spilled *entry = spilled_entry(page, mapping, index, false);

	if (!entry || spilled_is(entry, tag))
		return entry;
	entry = spilled_entry(page, mapping, index, true);
	return entry && spilled_is(entry, tag) ? entry : NULL;
}

/* Notes a page for who has a number. `written`: it may give way to any other page at once. A global function. */
__noinline int spilled_put(__u64 mapping, __u64 index, __u32 number, bool written)
{
	union spilled value = { .number = number, .tag = spilled_tag(mapping, index) };
	struct iotr_control *page = control_page();
	union spilled *entry = page ? spilled_take(page, mapping, index, value.tag) : NULL;

	if (written)
		value.tag |= SPILLED_WRITTEN;
	if (entry)
		*(volatile __u64 *)&entry->both = value.both;
	return 0;
}

/* The number of the dirtier of a page that is written, or 0. Only the mark changes: the page may become dirty meanwhile. */
static __always_inline __u32 spilled_by(const struct iotr_control *page, __u64 mapping, __u64 index)
{
	union spilled *entry = spilled_find(page, mapping, index), value;

	if (!entry)
		return 0;
	value.both = *(volatile __u64 *)&entry->both;
	if (!spilled_is(&value, spilled_tag(mapping, index)))
		return 0;
	if (!(value.tag & SPILLED_WRITTEN))
		*(volatile __u32 *)&entry->tag = value.tag | SPILLED_WRITTEN;
	return value.number;
}

/* Whether a page is noted that was not seen written since. */
static __always_inline bool spilled_waits(const struct iotr_control *page, __u64 mapping, __u64 index)
{
	union spilled *entry = spilled_find(page, mapping, index);

	return entry && !(entry->tag & SPILLED_WRITTEN);
}

/* Forgets a page, which is noted elsewhere now. A global function. */
__noinline int spilled_drop(__u64 mapping, __u64 index)
{
	__u32 tag = spilled_tag(mapping, index);
	struct iotr_control *page = control_page();

	if (!page)
		return 0;
	for (int second = 0; second < 2; second++) {
		union spilled *entry = spilled_entry(page, mapping, index, second);

		if (entry && spilled_is(entry, tag))
			*(volatile __u64 *)&entry->both = 0;
	}
	return 0;
}
