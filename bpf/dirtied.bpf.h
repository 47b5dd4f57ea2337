/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who made pages of the page cache dirty. It is noted whenever a clean page becomes dirty, which the kernel does in the
 * context of whom it charges in write_bytes of /proc/PID/io, and looked up when the page is written.
 *
 * A page has two entries to choose from. Those of one file's pages lie side by side, from two places that its address_space
 * hashes to, so pages of one file do not displace each other. When a page is written, its entry is marked: it can
 * still be looked up, as a request that was merged or cloned carries the page again, but gives way to any other page.
 * Where both entries are of other pages that were not seen written, one of these is displaced, and counted as forgotten:
 * its dirtier will not be known, unless the page was cut off or is not written. The daemon makes both tables when it
 * attaches the programs (see daemon/probes/dirtied.h), so nothing is told from a time in which nobody noted.
 */
#pragma once

#include "dirtier.bpf.h"

#define DIRTIED_WRITTEN 1U /* in the high half of an entry: the page was written since it was noted */

/* The high half of a page's entry. */
static __always_inline __u32 dirtied_tag(__u64 mapping, __u64 index)
{
	return (__u32)(iotr_mix(iotr_mix(0, mapping), index) >> 32) & ~DIRTIED_WRITTEN;
}

union dirtied {
	__u64 both;
	struct {
		__u32 number; /* of the dirtier; never 0 */
		__u32 tag;
	};
};

/* One of the two entries of a page, by `second`; NULL: there is no table. */
static __always_inline union dirtied *dirtied_entry(const struct iotr_control *page, __u64 mapping, __u64 index, bool second)
{
	__u64 hash = iotr_mix(0, mapping);
	__u32 zero = 0, at;
	void *table = bpf_map_lookup_elem(&dirtied, &zero);

	if (second)
		hash = iotr_mix(hash, 0);
	at = ((__u32)(hash >> 32) + (__u32)index) & page->dirtied_mask;

	return table ? bpf_map_lookup_elem(table, &at) : NULL;
}

static __always_inline bool dirtied_is(const union dirtied *entry, __u32 tag)
{
	return (entry->tag & ~DIRTIED_WRITTEN) == tag && entry->number;
}

static __always_inline bool dirtied_is_free(const union dirtied *entry)
{
	return !entry->number || entry->tag & DIRTIED_WRITTEN;
}

/* The entry in which a page is noted; NULL: none. What it was of may be forgotten for that. */
static __always_inline union dirtied *dirtied_take(struct iotr_control *page, __u64 mapping, __u64 index, __u32 tag)
{
	union dirtied *first = dirtied_entry(page, mapping, index, false), *second;

	if (!first || dirtied_is(first, tag) || dirtied_is_free(first))
		return first;
	second = dirtied_entry(page, mapping, index, true);
	if (!second || dirtied_is(second, tag) || dirtied_is_free(second))
		return second;
	__sync_fetch_and_add(&page->dirtied_forgotten, 1);
	return tag & (DIRTIED_WRITTEN << 1) ? first : second;
}

/* The entry that a page was noted in last, or NULL. */
static __always_inline union dirtied *dirtied_find(const struct iotr_control *page, __u64 mapping, __u64 index)
{
	__u32 tag = dirtied_tag(mapping, index);
	union dirtied *entry = dirtied_entry(page, mapping, index, false);

	if (!entry || dirtied_is(entry, tag))
		return entry;
	entry = dirtied_entry(page, mapping, index, true);
	return entry && dirtied_is(entry, tag) ? entry : NULL;
}

/* Notes a page for who has a number. `written`: it may give way to any other page at once. A global function. */
__noinline int dirtied_put(__u64 mapping, __u64 index, __u32 number, bool written)
{
	union dirtied value = { .number = number, .tag = dirtied_tag(mapping, index) };
	struct iotr_control *page = control_page();
	union dirtied *entry = page ? dirtied_take(page, mapping, index, value.tag) : NULL;

	if (written)
		value.tag |= DIRTIED_WRITTEN;
	if (entry)
		*(volatile __u64 *)&entry->both = value.both;
	return 0;
}

/* The number of the dirtier of a page that is written, or 0. Only the mark changes: the page may become dirty meanwhile. */
static __always_inline __u32 dirtied_by(const struct iotr_control *page, __u64 mapping, __u64 index)
{
	union dirtied *entry = dirtied_find(page, mapping, index), value;

	if (!entry)
		return 0;
	value.both = *(volatile __u64 *)&entry->both;
	if (!dirtied_is(&value, dirtied_tag(mapping, index)))
		return 0;
	if (!(value.tag & DIRTIED_WRITTEN))
		*(volatile __u32 *)&entry->tag = value.tag | DIRTIED_WRITTEN;
	return value.number;
}
