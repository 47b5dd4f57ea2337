/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter by cgroup: which sessions accept the one of the current task, or one above it. What
 * was found of a cgroup is remembered, as none ever moves to another parent, until the filters
 * change. Included by iotracer.bpf.h.
 */
#pragma once

struct cgroup_verdict {
	__u64 sessions;
	__u64 check; /* see verdict_check() */
};

ARRAY_OF(cgroup_verdicts, struct cgroup_verdict, IOTR_CGROUPS, 0);

/* Of whom, and as of when: what two CPUs wrote half of each is nobody's. */
static __always_inline __u64 verdict_check(__u64 id, __u64 generation, __u64 sessions)
{
	return iotr_mix(id, generation << 32) ^ sessions;
}

static __always_inline struct cgroup_verdict *verdict_of(__u64 id)
{
	__u32 index = id & (IOTR_CGROUPS - 1);

	return bpf_map_lookup_elem(&cgroup_verdicts, &index);
}

/* Parts of one step upwards: functions of their own, verified once and not for each level. */

/* Sessions that accept just this cgroup. */
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

/* Looks at the current task's cgroup and those above. A function of its own, verified once. */
__noinline __u64 cgroup_look(void)
{
	struct css_set *set = READ(struct task_struct, current_task(), cgroups);
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

/* Sessions that accept the current task's cgroup; says nothing of those that do not ask for one. */
static __always_inline __u64 cgroup_accepted(struct iotr_control *page, struct task_struct *task)
{
	__u64 id = task_cgroup(task);
	struct cgroup_verdict *verdict = verdict_of(id);
	__u64 sessions = verdict ? verdict->sessions : 0;

	if (verdict && verdict->check == verdict_check(id, page->cgroup_generation, sessions))
		return sessions;
	return cgroup_look();
}
