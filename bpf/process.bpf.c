// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fork and end of processes, for sessions that follow descendants. And creation and removal of cgroups:
 * a systemd unit that is started gets a new one, which filters accept before anything runs in it.
 */
#include "iotracer.bpf.h"

static __always_inline __u32 tgid_of(struct task_struct *task)
{
	return READ(struct task_struct, task, tgid);
}

/* Counts a descendant that could not be added to accept_pid, for each session of the mask. A global function. */
__noinline int count_unfollowed(__u64 sessions)
{
	struct iotr_control *page = control_page();

	if (!page)
		return 0;
	for (int bit = 0; bit < IOTR_SESSION_SLOTS && sessions; bit++) {
		__sync_fetch_and_add(&page->unfollowed[bit], sessions & 1); /* no branch, as in count_sessions() */
		sessions >>= 1;
	}
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = tgid_of(parent), to = tgid_of(child);
	struct iotr_control *page = control_page();
	__u64 *accepted, sessions;

	if (!page || from == to)
		return 0;
	accepted = bpf_map_lookup_elem(&accept_pid, &from);
	if (!accepted)
		return 0;
	sessions = *accepted & page->tree;
	if (!sessions)
		return 0;
	page->hints[IOTR_FILTER_PID][to & (IOTR_HINTS - 1)] = true;
	if (bpf_map_update_elem(&accept_pid, &to, &sessions, BPF_ANY))
		count_unfollowed(sessions);
	return 0;
}

/*
 * Removes a process that ended, so that a later one with its PID is not taken for it. This is done only
 * when the PID is free: until then the kernel still closes files, and other threads may run.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(process_free, struct task_struct *task)
{
	__u32 tgid = tgid_of(task);

	if (tgid == (__u32)READ(struct task_struct, task, pid) && bpf_map_lookup_elem(&accept_pid, &tgid))
		bpf_map_delete_elem(&accept_pid, &tgid);
	return 0;
}

/* ---- cgroups: never created or removed at the same time, as the kernel holds cgroup_mutex ---- */

ARRAY_OF(unit_scratch, struct iotr_unit, 1, 0);

/* Whether a cgroup is in the hierarchy of version 2. */
static __always_inline bool is_unified(struct cgroup *cgroup)
{
	return !READ(struct cgroup_root, READ(struct cgroup, cgroup, root), hierarchy_id);
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(cgroup_made, struct cgroup *cgroup, const char *path)
{
	struct kernfs_node *node = READ(struct cgroup, cgroup, kn);
	__u64 number = READ(struct kernfs_node, node, id), *sessions;
	__u32 zero = 0;
	struct iotr_unit *unit = bpf_map_lookup_elem(&unit_scratch, &zero);

	if (!unit || !is_unified(cgroup))
		return 0;
	__builtin_memset(unit, 0, sizeof(*unit));
	bpf_probe_read_kernel_str(unit->name, sizeof(unit->name), READ(struct kernfs_node, node, name));
	sessions = bpf_map_lookup_elem(&accept_unit, unit);
	if (sessions)
		bpf_map_update_elem(&accept_cgroup, &number, sessions, BPF_ANY);
	return 0;
}

/* Removes the cgroup: nothing runs in it, and its number is never used again. */
SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(cgroup_gone, struct cgroup *cgroup, const char *path)
{
	__u64 number = READ(struct kernfs_node, READ(struct cgroup, cgroup, kn), id);

	if (is_unified(cgroup) && bpf_map_lookup_elem(&accept_cgroup, &number))
		bpf_map_delete_elem(&accept_cgroup, &number);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
