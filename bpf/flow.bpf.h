/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call in flight that the current thread does I/O for: rows of that I/O have its flow (see common/flow.h). `now`, which a number is
 * made of, is when the program looked at the clock.
 */
#pragma once

#include "context.bpf.h"
#include "flow_made.bpf.h"
#include "slot.bpf.h"
#include "uring_request.bpf.h"

/*
 * Whether the thread is in the call that its slot has. The slot may be left over: from a call whose end was not seen, and
 * the thread is in another one or in none, or from an earlier thread with the same stack. That the registers are those of
 * the call excludes an interrupt or a page fault of user space, too.
 */
static __always_inline bool slot_in_call(struct iotr_control *page, const struct slot *slot, struct task_struct *task)
{
	if (slot->task != (__u64)task || slot_torn(slot) || slot->start_ns >= BEGINS_NOW ||
	    !filter_begun(page, slot->sessions, slot->start_ns))
		return false;
	if (call_number(user_registers()) != slot->number)
		return false;
	return slot->start_ns >= FOLLOW(task, start_time);
}

/* A call that ends other operations makes no row of its own. */
static __always_inline bool slot_makes_row(struct iotr_control *page, const struct slot *slot)
{
	const struct iotr_call *call = page->calls[slot->abi == IOTR_ABI_COMPAT] + call_index(slot->number);

	return !(call->traits & IOTR_CALL_REAPS);
}

/* The flow of the system call that the current thread, whose number is passed, is in; 0: none. A global function. */
__noinline __u64 flow_of_call(__u64 thread, __u64 now)
{
	struct slot *slot = thread_entry(THREAD_ARRAY(slots), thread);
	struct task_struct *task = current_task();
	struct iotr_control *page = control_page();

	if (!page || !slot || !slot->sessions || !slot_in_call(page, slot, task) || !slot_makes_row(page, slot))
		return 0;
	if (!slot->flow)
		slot->flow = flow_made(now);
	return slot->flow;
}

/* ---- requests of io_uring ---- */

/* The request in flight at an address, which may be that of anything else; NULL: none. */
static __always_inline struct uring_request *uring_request_at(__u64 address)
{
	struct io_kiocb *kernel = (struct io_kiocb *)address;
	struct uring_request *request;
	__u64 key = address, user_data;
	void *ring;

	if (HAS_REQUEST_CQE)
		return request_at(key);
	ring = READ(struct io_kiocb, kernel, ctx);
	user_data = READ(struct io_kiocb___510, kernel, user_data);
	for (__u32 index = 0; index < ALIKE_MAX; index++) {
		key = request_key_at(ring, user_data, index);
		request = request_at(key);
		if (request && request->tag == low_half(address))
			return request;
	}
	return NULL;
}

/* The flow of the request at an address; 0: there is none, or it makes no row that has a flow. A global function. */
__noinline __u64 flow_of_request(__u64 address, __u64 now)
{
	struct uring_request *request = address ? uring_request_at(address) : NULL;
	struct iotr_control *page = control_page();

	if (!page || !request ||
	    !filter_begun(page, request->iouring_sessions | request->vfs_sessions, request->start_ns))
		return 0;
	if (!request->flow)
		request->flow = flow_made(now);
	return request->flow;
}

/* The address of the request that a worker of io_uring works on; 0: none. Not inlined, for fields that a kernel lacks. */
static __noinline __u64 request_of_worker(struct task_struct *task)
{
	__u64 worker, work = 0;

	if (!bpf_core_field_exists(struct task_struct, worker_private) || !bpf_core_type_exists(struct io_worker))
		return 0;
	worker = ADDRESS(struct task_struct, task, worker_private);
	if (worker)
		work = ADDRESS(struct io_worker, worker, cur_work);
	return work ? work - bpf_core_field_offset(struct io_kiocb, work) : 0;
}

/* Whether the thread is one of io_uring's own, which make no system calls: a worker, or it takes submissions. */
static __always_inline bool is_uring_thread(struct task_struct *task)
{
	__u32 flags = FOLLOW(task, flags);

	return HAS_FOLIO && flags & PF_IO_WORKER && !(flags & PF_KTHREAD);
}

/*
 * The flow that I/O of the current thread is of; 0: none is known. `thread`: by its stack, as of thread_at(). What
 * io_uring does at once in a call is not told apart here: it may be of any request.
 */
static __always_inline __u64 flow_of(struct iotr_control *page, __u64 thread, __u64 now)
{
	struct task_struct *task;

	if (!(page->wanted[IOTR_VFS] | page->wanted[IOTR_IOURING]))
		return 0;
	task = current_task();
	return is_uring_thread(task) ? flow_of_request(request_of_worker(task), now) : flow_of_call(thread, now);
}
