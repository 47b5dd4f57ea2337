/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call or the request of io_uring that a bio is queued for. */
#pragma once

#include "direct.bpf.h"
#include "flow.bpf.h"

/* Whether the current thread may queue bios of io_uring. */
static __always_inline bool may_use_uring(struct task_struct *task)
{
	__u32 flags = FOLLOW(task, flags);

	if (!bpf_core_field_exists(struct task_struct, io_uring))
		return false;
	return flags & PF_KTHREAD || ADDRESS(struct task_struct, task, io_uring);
}

/*
 * The flow of a bio that the current thread queues now; 0: none is known. Direct I/O of io_uring is known by its request, whatever
 * thread does it and when: the request begins with its struct kiocb.
 */
static __always_inline __u64 flow_of_bio(struct iotr_control *page, struct bio *bio, __u64 thread, __u64 now)
{
	__u64 flow = 0;

	if (!(page->wanted[IOTR_VFS] | page->wanted[IOTR_IOURING]))
		return 0;
	if (may_use_uring(current_task()))
		flow = flow_of_request(iocb_of(number_of((__u64)bio)), now);
	return flow ?: flow_of(page, thread, now);
}
