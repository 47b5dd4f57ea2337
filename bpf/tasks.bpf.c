// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A task iterator: all threads of the machine, read as a file. It is on no hook and costs nothing
 * until the daemon reads it. Pointers have their BTF types here, so that plain loads work.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

#include "kernel_changes.h"
#include "tasks.h"

#define PF_KTHREAD 0x00200000

enum { RSS_FILE = 0, RSS_ANON = 1, RSS_SHARED = 3 }; /* counters of a memory map; 2 is swap */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_entity___tasks {
	__u64 sum_exec_runtime;
};

struct signal_struct___tasks {
	unsigned long long sum_sched_runtime; /* CPU time in ns of threads that have exited */
};

struct percpu_counter___tasks {
	__s64 count;
};

struct mm_struct___tasks {
	unsigned long total_vm;
	struct percpu_counter___tasks rss_stat[4];
};

struct task_struct___tasks {
	struct pid *thread_pid;
	unsigned int __state;
	int exit_state;
	__u64 start_boottime;
	struct sched_entity___tasks se;
	struct signal_struct___tasks *signal;
	struct mm_struct___tasks *mm;
};

#pragma clang attribute pop

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
} __attribute__((preserve_access_index));

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

static __always_inline __u32 state_of(struct task_struct *task)
{
	struct task_struct___tasks *now = (void *)task;
	struct task_struct___tasks510 *before = (void *)task;
	__u32 state = HAS_TASK_STATE(now) ? now->__state : (__u32)before->state;

	return state | (__u32)now->exit_state;
}

static __always_inline __s64 rss_of(struct mm_struct___tasks *mm)
{
	struct mm_struct___tasks510 *before = (void *)mm;
	long count[4] = { 0 };

	if (!HAS_RSS_PER_CPU) {
		/* Verifiers of such kernels do not follow an array of a typedef, so a plain load fails. */
		bpf_core_read(count, sizeof(count), &before->rss_stat.count);
		return count[RSS_FILE] + count[RSS_ANON] + count[RSS_SHARED];
	}
	return mm->rss_stat[RSS_FILE].count + mm->rss_stat[RSS_ANON].count +
	       mm->rss_stat[RSS_SHARED].count;
}

/* The process's number in its own PID namespace, the innermost one; 0 when it has given its number back. */
static __always_inline __u32 namespace_pid_of(struct task_struct___tasks *task)
{
	__u32 number = 0, level = 0;
	struct pid *pid = NULL;

	/* By a helper, as verifiers of old kernels refuse to calculate with a pointer that a plain load yields. */
	bpf_core_read(&pid, sizeof(pid), &task->thread_pid);
	bpf_core_read(&level, sizeof(level), &pid->level);
	if (pid)
		bpf_probe_read_kernel(&number, sizeof(number),
				      (void *)pid + bpf_core_field_offset(pid->numbers) +
					      (__u64)level * bpf_core_type_size(struct upid));
	return number;
}

static __always_inline void process_of(struct task_struct *task, struct iotr_task *to)
{
	struct task_struct___tasks *more = (void *)task;
	struct mm_struct___tasks *mm = more->mm;

	to->head.cpu_ns += more->signal->sum_sched_runtime;
	to->start_ns = more->start_boottime;
	to->cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	to->vm_pages = mm ? mm->total_vm : 0;
	to->rss_pages = mm ? rss_of(mm) : 0;
	to->ppid = (__u32)task->real_parent->tgid;
	to->uid = task->cred->uid.val;
	to->namespace_pid = namespace_pid_of(more);
	to->state = state_of(task);
	to->flags = task->flags & PF_KTHREAD ? IOTR_TASK_KERNEL : 0;
	bpf_probe_read_kernel_str(to->command, sizeof(to->command), task->comm);
}

SEC("iter/task")
int tasks(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct iotr_task to = { 0 };

	if (!task)
		return 0;
	to.head.tgid = (__u32)task->tgid;
	to.head.tid = (__u32)task->pid;
	to.head.task = (__u64)task;
	to.head.cpu_ns = ((struct task_struct___tasks *)task)->se.sum_exec_runtime;
	if (to.head.tgid != to.head.tid) {
		bpf_seq_write(context->meta->seq, &to.head, sizeof(to.head));
		return 0;
	}
	process_of(task, &to);
	bpf_seq_write(context->meta->seq, &to, sizeof(to));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
