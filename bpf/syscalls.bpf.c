// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System calls: what begins and what ends, for every stream that is made of them. The same two
 * bodies run at both levels: on the machine-wide sys_enter and sys_exit, or on the entry and exit
 * of the function of one call, which spares all the others. Which argument of a call means what
 * stands in the control page.
 */
#include "aio.bpf.h"
#include "plugged.bpf.h"
#include "vfs.bpf.h"

#define SEVERAL (IOTR_CALL_SUBMITS | IOTR_CALL_REAPS) /* operations in one call: each is drawn by itself */
#define DRAWN_OR_NOT (SEVERAL | IOTR_CALL_MOVES)

static __always_inline int call_begins(struct call_context context, __u32 parts)
{
	struct iotr_control *page = control_page();
	__u64 number = context.number, sessions, drawn, thread;
	struct task_struct *task;
	struct iotr_call *call;
	struct slot *slot;
	__u32 abi, tgid;
	bool moves;

	if (!page || number >= IOTR_CALLS)
		return 0;
	call = page->calls[IOTR_ABI_NATIVE] + call_index(number);
	drawn = call[0].sessions | call[IOTR_CALLS].sessions;
	if (!drawn)
		return 0;
	drawn = sample(page, IOTR_VFS, drawn);
	if (!drawn && !((call[0].traits | call[IOTR_CALLS].traits) & DRAWN_OR_NOT))
		return 0;
	task = current_task();
	tgid = task_tgid(task);
	if (tgid == page->own_tgid)
		return 0;
	abi = abi_of(task);
	if (abi == IOTR_ABI_COMPAT)
		call += IOTR_CALLS;
	sessions = call->sessions;
	moves = sessions && call->traits & IOTR_CALL_MOVES;
	if (!(call->traits & SEVERAL))
		sessions &= drawn;
	if (sessions)
		sessions = filter_task(page, task, sessions, tgid);
	if (!sessions && !moves)
		return 0;
	thread = thread_of(context);
	slot = slot_take(page, thread);
	if (!slot)
		return 0;
	arguments(slot->args, context, abi);
	slot->thread = thread;
	slot->task = (__u64)task;
	slot->number = number;
	slot->abi = abi;
	slot->stream = IOTR_VFS;
	slot->moves = moves;
	if (parts & PART_AIO && call->traits & SEVERAL) {
		slot->sessions = sessions;
		slot->start_ns = bpf_ktime_get_ns();
		if (call->traits & IOTR_CALL_SUBMITS)
			aio_begins(slot);
		return 0;
	}
	slot->sessions = sessions ? vfs_begins(page, call, slot, task, sessions, parts) : 0;
	if (slot->sessions)
		slot->start_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int call_ends(struct call_context context, long result, __u32 parts)
{
	struct slot *slot = slot_find(thread_of(context));
	const struct iotr_call *call;
	struct iotr_control *page;
	__u64 end;

	if (!slot || !(slot->sessions || slot->moves))
		return 0;
	end = bpf_ktime_get_ns();
	page = control_page();
	if (page && context.number == slot->number) {
		call = call_of(page, slot);
		slot->sessions = filter_begun(page, slot->sessions, slot->start_ns);
		if (!(parts & PART_AIO && call->traits & SEVERAL))
			vfs_ends(page, call, slot, result, end, parts);
		else if (slot->sessions)
			aio_ends(call, slot, result);
	}
	slot->sessions = 0;
	slot->moves = false;
	return 0;
}

/* ---- the other streams: each has programs of its own, which go on from here ---- */

/* The stream that a call which begins goes on to, or IOTR_VFS: none. Drawn for those who sample. */
static __always_inline __u32 plug_beginning(struct call_context context)
{
	__u64 number = context.number;
	struct iotr_control *page = control_page();
	const struct iotr_plug *plug;

	if (!page || number >= IOTR_CALLS)
		return IOTR_VFS;
	plug = page->plugs[IOTR_ABI_NATIVE] + call_index(number);
	if (!plug[0].sessions && !plug[IOTR_CALLS].sessions)
		return IOTR_VFS;
	if (abi_of(current_task()) == IOTR_ABI_COMPAT)
		plug += IOTR_CALLS;
	if (!plug->sessions || !sample_first(page, plug->stream, plug->sessions))
		return IOTR_VFS;
	return plug->stream;
}

#define PLUG_ENTER(ctx, context) PLUG_GO_ON(ctx, &plug_enters, plug_beginning(context))

/* The page cache wants the end of any call: its program comes first, and goes on from there. */
static __always_inline bool cache_wanted(void)
{
	struct iotr_control *page = control_page();

	return page && page->wanted[IOTR_CACHE];
}

#define GO_ON_AT_EXIT(ctx, context)                                                             \
	({                                                                                      \
		if (cache_wanted())                                                             \
			bpf_tail_call(ctx, &plug_exits, IOTR_CACHE);                            \
		PLUG_EXIT(ctx, context);                                                        \
	})

#define PARTS_ALL (PART_FILE | PART_RESULT | PART_AIO)

/* Where function hooks do the file system. */
SEC("tp_btf/sys_enter")
int BPF_PROG(plug_enter, struct pt_regs *regs, long number)
{
	return PLUG_ENTER(ctx, OF_REGS(regs));
}

SEC("tp_btf/sys_exit")
int BPF_PROG(plug_exit, struct pt_regs *regs, long result)
{
	return GO_ON_AT_EXIT(ctx, OF_REGS(regs));
}

/* Where nothing else does. */
SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long number)
{
	call_begins(OF_REGS(regs), PARTS_ALL);
	return PLUG_ENTER(ctx, REGS_AFRESH(ctx));
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long result)
{
	call_ends(OF_REGS(regs), result, PARTS_ALL);
	return GO_ON_AT_EXIT(ctx, REGS_AFRESH(ctx));
}

/*
 * Where the kernel preempts programs: it leaves one out for all other threads of a CPU until the
 * thread that was preempted in it goes on. On a classic tracepoint it does not preempt.
 */
SEC("tp/raw_syscalls/sys_enter")
int sys_enter_raw(struct raw_enter *ctx)
{
	call_begins(OF_ENTER(ctx), PARTS_ALL);
	return PLUG_ENTER(ctx, OF_ENTER(ctx));
}

SEC("tp/raw_syscalls/sys_exit")
int sys_exit_raw(struct raw_exit *ctx)
{
	call_ends(OF_EXIT(ctx), RESULT_OF(ctx), PARTS_ALL);
	return GO_ON_AT_EXIT(ctx, OF_EXIT(ctx));
}

/*
 * Pairs that are loaded once for each system call: the daemon sets the function, and takes the
 * pair with just the parts that the call needs, since each copy is verified anew.
 */
#define FUNCTION_PAIR(name, parts)                                                              \
	SEC("fentry/__x64_sys_read")                                                            \
	int BPF_PROG(name##_enter, struct pt_regs *regs)                                        \
	{                                                                                       \
		return call_begins(OF_REGS(regs), parts);                                               \
	}                                                                                       \
	SEC("fexit/__x64_sys_read")                                                             \
	int BPF_PROG(name##_exit, struct pt_regs *regs, long result)                            \
	{                                                                                       \
		return call_ends(OF_REGS(regs), result, parts);                                         \
	}

FUNCTION_PAIR(file, PART_FILE)
FUNCTION_PAIR(result, PART_RESULT)
FUNCTION_PAIR(both, PART_FILE | PART_RESULT)
FUNCTION_PAIR(aio, PART_AIO)

char LICENSE[] SEC("license") = "GPL";
