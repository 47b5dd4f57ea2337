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
	__u64 start_ns;	 /* when the process was started, CLOCK_BOOTTIME; 0: it is a kernel thread, or that is not known */
	__u64 own;	 /* it is one of iotracer's own processes */
};

_Static_assert(sizeof(struct dirtier) == IOTR_DIRTIER_SIZE, "the daemon makes a table of other values");

/* What is kept under a number; NULL: nothing. */
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

/*
 * Sessions that accept what a dirtier did, now that it is written: by what was judged then, or else by what is kept. Not
 * inlined, as there is little stack left where it is called.
 */
static __noinline __attribute__((unused)) __u64 dirtier_accepted(struct iotr_control *page, const struct dirtier *dirtier)
{
	__u64 judged = filter_begun(page, dirtier->judged, dirtier->judged_ns), open = page->open;

	return (dirtier->actor.accepted & judged) | actor_filter(page, open & ~judged, &dirtier->actor);
}
