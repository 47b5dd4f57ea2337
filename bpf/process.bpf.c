// SPDX-License-Identifier: GPL-2.0-or-later
/* Births and ends of processes: sessions that follow descendants learn of them here. */
#include "iotracer.bpf.h"

static __always_inline __u32 tgid_of(struct task_struct *task)
{
	return READ(struct task_struct, task, tgid);
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
	if (sessions)
		bpf_map_update_elem(&accept_pid, &to, &sessions, BPF_ANY);
	return 0;
}

/*
 * A process that ended makes room, lest a later one with its number be taken for it. Not before
 * its number is free: until then there are other threads, and what the kernel does at its end.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(process_free, struct task_struct *task)
{
	__u32 tgid = tgid_of(task);

	if (tgid == (__u32)READ(struct task_struct, task, pid) && bpf_map_lookup_elem(&accept_pid, &tgid))
		bpf_map_delete_elem(&accept_pid, &tgid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
