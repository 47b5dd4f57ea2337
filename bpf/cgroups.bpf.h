/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter by cgroup: which sessions accept the one of the current task, or one above it. What
 * was found of a cgroup is remembered, as none ever moves to another parent, until the filters
 * change. Included by iotracer.bpf.h.
 */
#pragma once

struct cgroup_verdict {
	__u64 generation;
	__u64 sessions;
};

HASH_OF(cgroup_verdicts, LRU_HASH, __u64, struct cgroup_verdict, IOTR_CGROUPS);

static __always_inline struct cgroup *cgroup_above(struct cgroup *cgroup)
{
	struct cgroup_subsys_state *parent = READ(struct cgroup, cgroup, self.parent);

	return parent ? READ(struct cgroup_subsys_state, parent, cgroup) : NULL;
}

/* Looks at the current task's cgroup and those above. A function of its own, verified once. */
__noinline __u64 cgroup_look(void)
{
	struct css_set *set = READ(struct task_struct, current_task(), cgroups);
	struct cgroup *cgroup = READ(struct css_set, set, dfl_cgrp);
	struct iotr_control *page = control_page();
	struct cgroup_verdict verdict = {};
	__u64 own, id, *accepted;

	if (!page || !cgroup)
		return 0;
	verdict.generation = page->cgroup_generation;
	own = READ(struct kernfs_node, READ(struct cgroup, cgroup, kn), id);
	for (int level = 0; level < IOTR_CGROUP_LEVELS && cgroup; level++) {
		id = READ(struct kernfs_node, READ(struct cgroup, cgroup, kn), id);
		accepted = bpf_map_lookup_elem(&accept_cgroup, &id);
		if (accepted)
			verdict.sessions |= *accepted;
		cgroup = cgroup_above(cgroup);
	}
	bpf_map_update_elem(&cgroup_verdicts, &own, &verdict, BPF_ANY);
	return verdict.sessions;
}

/* Sessions that accept the current task's cgroup; says nothing of those that do not ask for one. */
static __always_inline __u64 cgroup_accepted(struct iotr_control *page, struct task_struct *task)
{
	__u64 id = task_cgroup(task);
	struct cgroup_verdict *verdict = bpf_map_lookup_elem(&cgroup_verdicts, &id);

	if (verdict && verdict->generation == page->cgroup_generation)
		return verdict->sessions;
	return cgroup_look();
}
