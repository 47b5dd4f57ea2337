/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of bpf/tasks.bpf.c, one for each thread of the machine: a head, and, for the first thread of a
 * process, whose tid is the tgid, everything else. BPF programs and host share this layout.
 */
#pragma once

#include <linux/types.h>

struct iotr_task_head {
	__u32 tgid;
	__u32 tid;
	__u64 cpu_ns; /* of this thread; for the first thread, plus that of threads that ended */
	__u64 task;   /* its struct task_struct, as struct slot has it */
};

enum {
	IOTR_TASK_KERNEL = 1, /* flag: a kernel thread */
};

struct iotr_task {
	struct iotr_task_head head;
	__u64 start_ns;	 /* CLOCK_BOOTTIME */
	__u64 cgroup_id; /* in cgroup v2 */
	__u64 vm_pages;
	__s64 rss_pages;
	__u32 ppid;
	__u32 uid;
	__u32 state; /* the kernel's value, including the exit state */
	__u32 flags;
	__u32 namespace_pid; /* in its own PID namespace; 0: it has none any more */
	__u32 reserved;
	char command[16];
};
