/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What bpf/tasks.bpf.c tells of each thread of the machine: a head, and of the first thread of a
 * process, whose tid is the tgid, all the rest. Kernel and host agree on this layout.
 */
#pragma once

#include <linux/types.h>

struct iotr_task_head {
	__u32 tgid;
	__u32 tid;
	__u64 cpu_ns; /* of this thread; the first one adds those that ended */
};

enum {
	IOTR_TASK_KERNEL = 1, /* flag: a thread of the kernel */
};

struct iotr_task {
	struct iotr_task_head head;
	__u64 start_ns;	 /* CLOCK_BOOTTIME */
	__u64 cgroup_id; /* v2 */
	__u64 vm_pages;
	__s64 rss_pages;
	__u32 ppid;
	__u32 uid;
	__u32 state; /* as the kernel has it, with the exit state */
	__u32 flags;
	char command[16];
};
