/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter by cgroup: which sessions accept the cgroup of the current task or one above it. The
 * result is cached by cgroup until the filters change, as a cgroup never moves to another parent.
 * Included by iotracer.bpf.h.
 */
#pragma once

struct cgroup_verdict {
	__u64 sessions;
	__u64 check; /* see verdict_check() */
};

ARRAY_OF(cgroup_verdicts, struct cgroup_verdict, IOTR_CGROUPS, 0);

/* A check value of an entry's cgroup, generation and sessions: it fails if two CPUs wrote the entry at once. */
static __always_inline __u64 verdict_check(__u64 id, __u64 generation, __u64 sessions)
{
	return iotr_mix(id, generation << 32) ^ sessions;
}

static __always_inline struct cgroup_verdict *verdict_of(__u64 id)
{
	__u32 index = id & (IOTR_CGROUPS - 1);

	return bpf_map_lookup_elem(&cgroup_verdicts, &index);
}

/* The parts of one step upwards are global functions, so that they are not verified anew for each level. */

/* Sessions whose filter names this cgroup itself. */
__noinline __u64 cgroup_sessions(__u64 cgroup)
{
	__u64 id = READ(struct kernfs_node, READ(struct cgroup, cgroup, kn), id);
	__u64 *accepted = bpf_map_lookup_elem(&accept_cgroup, &id);

	return accepted ? *accepted : 0;
}

__noinline __u64 cgroup_above(__u64 cgroup)
{
	struct cgroup_subsys_state *parent = READ(struct cgroup, cgroup, self.parent);

	return parent ? number_of((__u64)READ(struct cgroup_subsys_state, parent, cgroup)) : 0;
}

/* Looks up the current task's cgroup and those above, and caches the result. A global function. */
__noinline __u64 cgroup_look(void)
{
	struct css_set *set = FOLLOW(current_task(), cgroups);
	__u64 cgroup = number_of((__u64)READ(struct css_set, set, dfl_cgrp)), own, generation, sessions = 0;
	struct iotr_control *page = control_page();
	struct cgroup_verdict *verdict;

	if (!page || !cgroup)
		return 0;
	generation = page->cgroup_generation;
	own = READ(struct kernfs_node, READ(struct cgroup, cgroup, kn), id);
	for (int level = 0; level < IOTR_CGROUP_LEVELS && cgroup; level++) {
		sessions |= cgroup_sessions(cgroup);
		cgroup = cgroup_above(cgroup);
	}
	verdict = verdict_of(own);
	if (verdict) {
		verdict->sessions = sessions;
		verdict->check = verdict_check(own, generation, sessions);
	}
	return sessions;
}

/* Sessions whose filter accepts a cgroup that need not be the current task's: one above it may be unknown here. */
static __always_inline __u64 cgroup_known(struct iotr_control *page, __u64 id)
{
	struct cgroup_verdict *verdict = verdict_of(id);
	__u64 sessions = verdict ? verdict->sessions : 0, *accepted;

	if (verdict && verdict->check == verdict_check(id, page->cgroup_generation, sessions))
		return sessions;
	accepted = bpf_map_lookup_elem(&accept_cgroup, &id);
	return accepted ? *accepted : 0;
}

/* Sessions whose cgroup filter accepts the current task; the bits of sessions without such a filter mean nothing. */
static __always_inline __u64 cgroup_accepted(struct iotr_control *page, struct task_struct *task)
{
	__u64 id = task_cgroup(task);
	struct cgroup_verdict *verdict = verdict_of(id);
	__u64 sessions = verdict ? verdict->sessions : 0;

	if (verdict && verdict->check == verdict_check(id, page->cgroup_generation, sessions))
		return sessions;
	return cgroup_look();
}
