/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The task that began an event which ends in another context: saved at the start, put in the row at the end. */
#pragma once

#include "iotracer.bpf.h"

#define PF_KTHREAD 0x00200000

/* The task that began an event, kept until the row is written. */
struct actor {
	__u64 cgroup_id;
	__u64 accepted; /* session mask: those that accept new events, and this task; see actor_judged() */
	__u32 pid, tid, ppid, uid;
	__u64 known; /* it is a user's task: neither a kernel thread, which works for others, nor idle */
	struct iotr_command command;
};

static __always_inline void actor_current(struct actor *actor)
{
	struct task_struct *task = current_task();

	actor->cgroup_id = task_cgroup(task);
	actor->accepted = 0;
	actor->pid = task_tgid(task);
	actor->tid = task_tid(task);
	actor->ppid = task_ppid(task);
	actor->uid = task_uid(task);
	actor->known = !(FOLLOW(task, flags) & PF_KTHREAD) && actor->pid;
	task_command(task, &actor->command);
}

/* The same, with the verdict of the filters on tasks: when the event ends, the process may be gone from accept_pid. */
static __always_inline void actor_judged(struct iotr_control *page, struct actor *actor)
{
	actor_current(actor);
	actor->accepted = filter_current(page, page->open);
}

static __always_inline void actor_head(struct iotr_record *head, const struct actor *actor)
{
	head->cgroup_id = actor->cgroup_id;
	head->pid = actor->pid;
	head->tid = actor->tid;
	head->ppid = actor->ppid;
	head->uid = actor->uid;
	__builtin_memcpy(head->command, actor->command.text, sizeof(head->command));
}
