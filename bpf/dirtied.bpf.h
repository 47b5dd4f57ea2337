/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who made pages of the page cache dirty. It is noted whenever a clean page becomes dirty, which the kernel does in the
 * context of whom it charges in write_bytes of /proc/PID/io, and looked up when the page is written. Nothing is
 * removed: a page that becomes dirty again replaces its entry, and one that stays clean is not looked up.
 *
 * The entries of one file's pages lie side by side, from a place that its address_space hashes to. So pages of one file
 * never share an entry, and those of two files that do replace each other; then the tag tells that the entry is of
 * another page, and the page's dirtier is not known. The daemon makes both tables when it attaches the programs (see
 * daemon/probes/dirtied.h), so nothing is told from a time in which nobody noted.
 */
#pragma once

#include "actor.bpf.h"
#include "folio.bpf.h"

#define FOLIO_PAGES 512 /* maximum of pages of one folio that are noted */

/* A task that made pages dirty. */
struct dirtier {
	struct actor actor;
	__u64 judged; /* session mask: those that actor.accepted is about */
	__u64 judged_ns; /* when; sessions that began later have not been judged */
};

_Static_assert(sizeof(struct dirtier) == IOTR_DIRTIER_SIZE, "the daemon makes a table of other values");

/* By page: its tag in the high half, the number of its dirtier in the low one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_ARRAY);
		__uint(map_flags, BPF_F_INNER_MAP);
		__uint(max_entries, 1);
		__type(key, __u32);
		__type(value, __u64);
	});
} dirtied SEC(".maps");

/* struct dirtier, by number. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_LRU_HASH);
		__uint(max_entries, 1);
		__uint(key_size, sizeof(__u32));
		__uint(value_size, sizeof(struct dirtier));
	});
} dirtiers SEC(".maps");

/* The last task that made a page dirty on this CPU, which mostly is the next one, too. */
struct dirtier_last {
	__u64 task; /* address */
	__u64 cgroup;
	__u64 open; /* that of the control page, as begun_ns is its begun_last_ns: since then, no session has begun */
	__u64 begun_ns;
	struct iotr_command command;
	__u32 tid, uid;
	__u32 number;
	__u32 pad;
};

ARRAY_PER_CPU(dirtier_last, struct dirtier_last, 1);

static __always_inline struct dirtier *dirtier_find(__u32 number)
{
	__u32 zero = 0;
	void *table = bpf_map_lookup_elem(&dirtiers, &zero);

	return table ? bpf_map_lookup_elem(table, &number) : NULL;
}

/* A number for a task as it is now: the same as long as what rows say of it is the same. Never 0. */
static __always_inline __u32 dirtier_number(const struct dirtier_last *as, __u64 start)
{
	const __u64 *words = (const __u64 *)as->command.text;
	__u64 hash = iotr_mix(iotr_mix(start, words[0]), words[1]);

	hash = iotr_mix(iotr_mix(hash, as->cgroup), (__u64)as->uid << 32 | as->tid);
	return hash >> 32 ?: 1;
}

/* Notes the current task as a dirtier; 0: there is no table. A global function. */
__noinline __u32 dirtier_note(void)
{
	__u32 zero = 0, number;
	struct dirtier_last *last = bpf_map_lookup_elem(&dirtier_last, &zero);
	void *table = bpf_map_lookup_elem(&dirtiers, &zero);
	struct task_struct *task = current_task();
	struct iotr_control *page = control_page();
	struct dirtier dirtier = {};

	if (!last || !table || !page)
		return 0;
	last->begun_ns = page->begun_last_ns; /* both are read before the filters are */
	last->open = dirtier.judged = page->open;
	dirtier.judged_ns = bpf_ktime_get_ns();
	actor_judged(page, &dirtier.actor);
	last->task = (__u64)task;
	last->cgroup = dirtier.actor.cgroup_id;
	last->command = dirtier.actor.command;
	last->tid = dirtier.actor.tid;
	last->uid = dirtier.actor.uid;
	last->number = number = dirtier_number(last, READ(struct task_struct, task, start_time));
	bpf_map_update_elem(table, &number, &dirtier, BPF_ANY);
	return number;
}

static __always_inline __u32 dirtier_current(struct iotr_control *page)
{
	__u32 zero = 0;
	struct dirtier_last *last = bpf_map_lookup_elem(&dirtier_last, &zero);
	struct task_struct *task = current_task();
	const __u64 *was, *is;
	struct iotr_command command;

	if (!last || last->task != (__u64)task || last->tid != task_tid(task) || last->uid != task_uid(task) ||
	    last->cgroup != task_cgroup(task) || last->open != page->open || last->begun_ns != page->begun_last_ns)
		return dirtier_note();
	task_command(task, &command);
	was = (const __u64 *)last->command.text;
	is = (const __u64 *)command.text;
	return was[0] == is[0] && was[1] == is[1] ? last->number : dirtier_note();
}

/* The high half of a page's entry. */
static __always_inline __u64 dirtied_tag(__u64 mapping, __u64 index)
{
	return iotr_mix(iotr_mix(0, mapping), index) & ~0ULL << 32;
}

/* The entry that a page has to itself or shares with pages of other files; NULL: there is no table. */
static __always_inline __u64 *dirtied_entry(const struct iotr_control *page, __u64 mapping, __u64 index)
{
	__u32 zero = 0, at = ((__u32)(iotr_mix(0, mapping) >> 32) + (__u32)index) & page->dirtied_mask;
	void *table = bpf_map_lookup_elem(&dirtied, &zero);

	return table ? bpf_map_lookup_elem(table, &at) : NULL;
}

/* Notes pages that the current task made dirty. A global function. */
__noinline int dirtied_note(__u64 mapping, __u64 index, __u32 pages)
{
	struct iotr_control *page = control_page();
	__u32 number;

	if (!page)
		return 0;
	number = dirtier_current(page);
	for (__u32 i = 0; i < FOLIO_PAGES && i < pages; i++) {
		__u64 *entry = dirtied_entry(page, mapping, index + i);

		if (entry)
			*entry = dirtied_tag(mapping, index + i) | number;
	}
	return 0;
}

static __always_inline int dirtied_seen(__u64 folio, __u64 mapping)
{
	if (mapping)
		dirtied_note(number_of(mapping), folio_index(folio), folio_pages(folio));
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(dirty_folio, void *folio, void *mapping)
{
	return dirtied_seen((__u64)folio, (__u64)mapping);
}

SEC("tp_btf/writeback_dirty_page")
int BPF_PROG(dirty_page, void *page, void *mapping)
{
	return dirtied_seen((__u64)page, (__u64)mapping);
}

/* The number of a page's dirtier, or 0. */
static __always_inline __u32 dirtied_by(const struct iotr_control *page, __u64 mapping, __u64 index)
{
	__u64 *entry = dirtied_entry(page, mapping, index);
	__u64 value = entry ? *entry : 0;

	return (value & ~0ULL << 32) == dirtied_tag(mapping, index) ? (__u32)value : 0;
}

/* Sessions of the mask whose filters accept a task that may have ended: by what is kept of it. */
static __always_inline __u64 actor_filter(struct iotr_control *page, __u64 sessions, const struct actor *actor)
{
	struct iotr_command command = actor->command;
	__u32 pid = actor->pid, uid = actor->uid;
	__u64 cgroup = actor->cgroup_id;

	if (!sessions || is_own(page, pid))
		return 0;
	sessions = FILTER_PID(page, sessions, pid);
	sessions = FILTER_UID(page, sessions, uid);
	sessions = FILTER_COMMAND(page, sessions, &command);
	if (sessions & page->filtered[IOTR_FILTER_CGROUP])
		sessions = filter_accepted(page, sessions, IOTR_FILTER_CGROUP, cgroup_known(page, cgroup));
	return sessions;
}

/* Sessions that accept what a dirtier did, now that it is written: by what was judged then, or else by what is kept. */
static __always_inline __u64 dirtier_accepted(struct iotr_control *page, const struct dirtier *dirtier)
{
	__u64 judged = filter_begun(page, dirtier->judged, dirtier->judged_ns), open = page->open;

	return (dirtier->actor.accepted & judged) | actor_filter(page, open & ~judged, &dirtier->actor);
}
