// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts of I/O by layer, for iotracectl amplification: see common/layer_counts.h. Loaded and attached only while they are asked
 * for. Nothing is transported: the programs add to maps, which the daemon reads now and then.
 */
#include "layers_block.bpf.h"
#include "layers_cache.bpf.h"
#include "layers_uring.bpf.h"

/* ---- system calls ---- */

SEC("tp_btf/sys_enter")
int BPF_PROG(layers_enter, struct pt_regs *regs, long number)
{
	return call_begins(regs->orig_ax, thread_of(OF_REGS(regs)));
}

SEC("tp_btf/sys_exit")
int BPF_PROG(layers_exit, struct pt_regs *regs, long result)
{
	return call_ends_at(regs, regs->di, regs->bx, regs->orig_ax, thread_of(OF_REGS(regs)), result);
}

/* On kernels that preempt programs: see syscalls.bpf.c. */
SEC("tp/raw_syscalls/sys_enter")
int layers_enter_raw(struct raw_enter *ctx)
{
	return call_begins(OF_ENTER(ctx).number, thread_here());
}

SEC("tp/raw_syscalls/sys_exit")
int layers_exit_raw(struct raw_exit *ctx)
{
	struct pt_regs *regs = user_registers();

	return call_ends_at(regs, READ(struct pt_regs, regs, di), READ(struct pt_regs, regs, bx), OF_EXIT(ctx).number,
			    thread_here(), RESULT_OF(ctx));
}

/* A call that was interrupted has ended for good; that its thread died in it is no error of the call. */
SEC("tp_btf/signal_deliver")
int BPF_PROG(layers_signal, int signal, void *info, struct k_sigaction *action)
{
	struct pt_regs *regs = user_registers();
	long result = signal_result(signal, action);

	if (!result || result == -IOTR_DIED)
		return 0;
	return call_ends_at(regs, REGISTER(regs, di), REGISTER(regs, bx), REGISTER(regs, orig_ax), thread_here(), result);
}

/* ---- io_uring ---- */

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(layers_submit_req__1, struct io_kiocb *kernel)
{
	return uring_begins(kernel);
}

SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(layers_submit_sqe__2, struct io_kiocb *kernel)
{
	return uring_begins(kernel);
}

SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(layers_submit_sqe__7, void *ring, struct io_kiocb *kernel, __u8 opcode)
{
	return uring_begins_unnamed(kernel, opcode);
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(layers_complete__3, void *ring, struct io_kiocb *kernel, struct io_uring_cqe *cqe)
{
	return uring_ended(kernel, cqe->res);
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(layers_complete__7, void *ring, struct io_kiocb *kernel, __u64 user_data, int result)
{
	return uring_ended(kernel, result);
}

/* ---- page cache ---- */

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(layers_add, void *folio)
{
	return pages_added(thread_at(ctx), number_of((__u64)folio));
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(layers_dirty_folio, void *folio)
{
	return pages_dirtied(thread_at(ctx), number_of((__u64)folio));
}

SEC("tp_btf/writeback_dirty_page")
int BPF_PROG(layers_dirty_page, void *page)
{
	return pages_dirtied(thread_at(ctx), number_of((__u64)page));
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(layers_fault, void *mapping, unsigned long index)
{
	return fault_begins(thread_at(ctx), number_of((__u64)mapping), index);
}

/* ---- block devices ---- */

QUEUE_HOOK(layers_bio_queue, block_bio_queue, struct bio *bio, bio_begins(bio))
QUEUE_HOOK(layers_rq_issue, block_rq_issue, struct request *request, request_issued(request))

SEC("tp_btf/block_bio_complete")
int BPF_PROG(layers_bio_complete, struct request_queue *queue, struct bio *bio)
{
	return bio_ended_at(bio);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(layers_rq_complete, struct request *request, int error, unsigned int bytes)
{
	return request_ended(request, error, bytes);
}

/* ---- processes ---- */

/* Of any task: task_tgid() may be that of the current one. */
static __always_inline __u32 tgid_of(struct task_struct *task)
{
	return READ(struct task_struct, task, tgid);
}

static __always_inline bool is_known(struct task_struct *task)
{
	__u32 tgid = tgid_of(task);
	struct iotr_layer_process *known = bpf_map_lookup_elem(&layer_processes, &tgid);

	return known && known->start_ns == started(task);
}

static __always_inline struct iotr_layer_family family_of(struct task_struct *task)
{
	return (struct iotr_layer_family){ tgid_of(task), (__u32)(started(task) / IOTR_LAYER_TICK_NS) };
}

/* A process that is begun is of the commands that its parent is of. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(layers_fork, struct task_struct *parent, struct task_struct *child)
{
	struct iotr_layer_family from = family_of(parent), to = family_of(child);
	__u32 *commands = bpf_map_lookup_elem(&layer_families, &from), zero = 0, copy;
	__u64 *unfollowed;

	if (!commands || from.process == to.process)
		return 0;
	copy = *commands;
	if (!bpf_map_update_elem(&layer_families, &to, &copy, BPF_ANY))
		return 0;
	unfollowed = bpf_map_lookup_elem(&layer_unfollowed, &zero);
	if (unfollowed)
		__sync_fetch_and_add(unfollowed, 1);
	return 0;
}

/* One that has done nothing that is counted takes no room when it is gone. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(layers_free, struct task_struct *task)
{
	struct iotr_layer_family family = family_of(task);

	if (family.process == (__u32)READ(struct task_struct, task, pid) && bpf_map_lookup_elem(&layer_families, &family) &&
	    !is_known(task))
		bpf_map_delete_elem(&layer_families, &family);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(layers_exec, struct task_struct *task)
{
	return is_known(current_task()) ? process_note(0) : 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(layers_gone, struct task_struct *task)
{
	struct task_struct *current = current_task();
	struct signal_struct *signal = FOLLOW(current, signal);

	if (READ(struct signal_struct, signal, live.counter) > 0 || !is_known(current))
		return 0;
	return process_note(bpf_ktime_get_ns() ?: 1);
}

char LICENSE[] SEC("license") = "GPL";
