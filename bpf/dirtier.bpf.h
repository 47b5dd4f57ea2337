/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks for whom something is written later, mostly as they made pages dirty: each has a number, under which is kept
 * what rows say of it, and which sessions accept it.
 */
#pragma once

#include "actor.bpf.h"

/* A task that made pages dirty. */
struct dirtier {
	struct actor actor;
	__u64 judged; /* session mask: those that actor.accepted is about */
	__u64 judged_ns; /* when; sessions that began later have not been judged */
};

_Static_assert(sizeof(struct dirtier) == IOTR_DIRTIER_SIZE, "the daemon makes a table of other values");

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
	__u32 works_for_others; /* it is a kernel thread */
};

ARRAY_PER_CPU(dirtier_last, struct dirtier_last, 1);

static __always_inline struct dirtier *dirtier_find(__u32 number)
{
	__u32 zero = 0;
	void *table = bpf_map_lookup_elem(&dirtiers, &zero);

	return table ? bpf_map_lookup_elem(table, &number) : NULL;
}

/* A number for a task as it is now: the same as long as what rows say of it is the same. Never 0. */
static __always_inline __u32 dirtier_number(const struct actor *as, __u64 start)
{
	const __u64 *words = (const __u64 *)as->command.text;
	__u64 hash = iotr_mix(iotr_mix(start, words[0]), words[1]);

	hash = iotr_mix(iotr_mix(hash, as->cgroup_id), (__u64)as->uid << 32 | as->tid);
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
	last->works_for_others = !dirtier.actor.known;
	last->number = number = dirtier_number(&dirtier.actor, READ(struct task_struct, task, start_time));
	bpf_map_update_elem(table, &number, &dirtier, BPF_ANY);
	return number;
}

/* The current task as a dirtier, noted if it was not before; NULL: it cannot be noted. */
static __always_inline const struct dirtier_last *dirtier_current(struct iotr_control *page)
{
	__u32 zero = 0;
	struct dirtier_last *last = bpf_map_lookup_elem(&dirtier_last, &zero);
	struct task_struct *task = current_task();
	const __u64 *was, *is;
	struct iotr_command command;

	if (!last)
		return NULL;
	if (last->task != (__u64)task || last->tid != task_tid(task) || last->uid != task_uid(task) ||
	    last->cgroup != task_cgroup(task) || last->open != page->open || last->begun_ns != page->begun_last_ns)
		return dirtier_note() ? last : NULL;
	task_command(task, &command);
	was = (const __u64 *)last->command.text;
	is = (const __u64 *)command.text;
	return (was[0] == is[0] && was[1] == is[1]) || dirtier_note() ? last : NULL;
}

/* Where a dirtier is put together, as the stack has no room: each is used by one hook, and so by one program of a CPU at a time. */
enum {
	KEEP_BIO,
	KEEP_ISSUE,
	KEEP_COUNT,
};

ARRAY_PER_CPU(dirtiers_fresh, struct dirtier, KEEP_COUNT);

/*
 * Notes a task, of which sessions were judged at a time, as a dirtier, and returns its number; 0: there is no table. The
 * number is the same as long as what rows say of it is.
 */
static __always_inline __u32 dirtier_keep(struct iotr_control *page, __u32 which, const struct actor *actor,
					  __u64 judged_ns)
{
	struct dirtier *dirtier = bpf_map_lookup_elem(&dirtiers_fresh, &which);
	__u32 zero = 0, number = dirtier_number(actor, actor->pid);
	void *table = bpf_map_lookup_elem(&dirtiers, &zero);

	if (!table || !dirtier)
		return 0;
	dirtier->actor = *actor;
	dirtier->judged = page->open;
	dirtier->judged_ns = judged_ns;
	bpf_map_update_elem(table, &number, dirtier, BPF_ANY);
	return number;
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
