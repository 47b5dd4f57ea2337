/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that make rows of streams other than VFS. Such a stream has one program that begins a
 * call and one that ends it. The program on sys_enter, of syscalls.bpf.c or net.bpf.c, tail calls the
 * first if the table of plugs has sessions that record the call, the one on sys_exit the second if the
 * call has a slot.
 */
#pragma once

#define SLOTS	    plugged
#define SLOTS_OTHER 1

#include "plugged.bpf.h"
#include "slots.bpf.h"

/* In the slot, after the six arguments: the time when the call ended, in ns. */
#define ARG_END 6

/* A call that begins: its row in the table, and its arguments. */
struct plug_call {
	const struct iotr_plug *plug;
	__u64 number;
	__u64 sessions; /* session mask: those that accept it */
	__u64 thread;
	__u32 abi;
	__u64 args[6];
};

/*
 * Whether a session of `sessions` accepts the call that begins, by the filters on tasks. `ret` has its row, number and ABI, and
 * gets the rest but the arguments.
 */
static __always_inline bool plug_accepted(struct iotr_control *page, struct task_struct *task, struct call_context context,
					  __u64 sessions, struct plug_call *ret)
{
	__u32 tgid = task_tgid(task);

	ret->sessions = filter_task(page, task, filter_fileless(page, sessions), tgid);
	ret->thread = thread_of(context);
	return ret->sessions && !is_own(page, tgid);
}

/* Whether a session accepts the call that begins, after the first draw; fills in `ret` but the arguments. */
static __always_inline bool plug_drawn(struct task_struct *task, struct call_context context, struct plug_call *ret)
{
	struct iotr_control *page = control_page();

	ret->number = context.number;
	if (!page || ret->number >= IOTR_CALLS)
		return false;
	ret->abi = abi_of(task);
	ret->plug = page->plugs[IOTR_ABI_NATIVE] + call_index(ret->number);
	if (ret->abi == IOTR_ABI_COMPAT)
		ret->plug += IOTR_CALLS;
	return plug_accepted(page, task, context, sample_then(page, ret->plug->stream, ret->plug->sessions), ret);
}

/* The same, and fills in the arguments. */
static __always_inline bool plug_wanted(struct call_context context, struct plug_call *ret)
{
	if (!plug_drawn(current_task(), context, ret))
		return false;
	arguments(ret->args, context, ret->abi);
	return true;
}

/* Takes a slot for a call that a session accepts, and saves its start there, but not its arguments; NULL: it is lost. */
static __always_inline struct slot *plug_slot(struct task_struct *task, const struct plug_call *call)
{
	struct iotr_control *page = control_page();
	const struct iotr_plug *plug = call->plug;
	struct slot *slot = page ? slot_take(page, call->thread, plug->stream, call->sessions) : NULL;

	if (!slot)
		return NULL;
	slot->task = (__u64)task;
	slot->number = call->number;
	slot->abi = call->abi;
	slot->operation = plug->operation;
	slot->kind = plug->kind;
	slot_begun(slot, call->thread, plug->stream, call->sessions, call->sessions);
	return slot;
}

/* The same, and saves its arguments. */
static __always_inline struct slot *plug_takes(const struct plug_call *call)
{
	struct slot *slot = plug_slot(current_task(), call);

	if (slot)
		__builtin_memcpy(slot->args, call->args, sizeof(call->args));
	return slot;
}

/* Called after a stream has saved its data in the slot: a call whose slot was taken meanwhile is counted as lost. */
static __always_inline void plug_noted(struct slot *slot, const struct plug_call *call)
{
	slot_kept(slot, call->thread, call->plug->stream, call->sessions);
}

/* plug_wanted() and plug_takes(); NULL: no session accepts the call, or it is lost. */
static __always_inline struct slot *plug_begins(struct call_context context)
{
	struct plug_call call;

	return plug_wanted(context, &call) ? plug_takes(&call) : NULL;
}

/*
 * Whether the call in the slot is the one that ends, for good, and sessions of it are still there; otherwise nothing is left to
 * do for it.
 */
static __always_inline bool plug_ended(struct iotr_control *page, struct slot *slot, __u64 thread, struct call_context context,
				       long result)
{
	if (!slot_ends(slot, thread, context.number))
		return false;
	if (restarts(result)) {
		slot_breaks(thread);
		return false;
	}
	slot->args[ARG_END] = bpf_ktime_get_ns();
	slot->sessions = filter_begun(page, slot->sessions, slot->start_ns);
	if (slot->sessions)
		return true;
	slot_done(slot, thread);
	return false;
}

/* The slot of the call that ends, to be released with plug_done(); NULL: it has none. */
static __always_inline struct slot *plug_ends(struct call_context context, long result)
{
	__u64 thread = thread_of(context);
	struct slot *slot = slot_find(thread);
	struct iotr_control *page = control_page();

	if (!page || !slot || !slot->sessions)
		return NULL;
	return plug_ended(page, slot, thread, context, result) ? slot : NULL;
}

static __always_inline void plug_done(struct slot *slot, struct call_context context)
{
	slot_done(slot, thread_of(context));
}

/*
 * The row of the call that ends, its head filled in, or NULL. `bytes` is the size of the record, `size`
 * the operation's size for filters, IOTR_UNKNOWN: it has none. For `at_hand` see row_begin_at().
 */
static __always_inline void *plug_row_at(const struct slot *slot, __u32 stream, __u32 bytes, __u64 size, bool failed,
					 bool at_hand)
{
	struct task_struct *task = current_task();
	__u64 end = slot->args[ARG_END], sessions = slot->sessions;
	struct iotr_control *page = control_page();
	void *row;

	if (!page)
		return NULL;
	sessions &= page->operation[stream & 15][slot->operation & (IOTR_OPERATIONS_MAX - 1)];
	sessions = filter_end(page, sessions, end - slot->start_ns, size, failed);
	if (!sessions)
		return NULL;
	row = row_begin_at(stream, slot->operation, bytes, sessions, at_hand);
	if (!row)
		return NULL;
	head_fill(row, sessions, slot->start_ns, end);
	head_fill_current(row, task);
	return row;
}

static __always_inline void *plug_row(const struct slot *slot, __u32 bytes, __u64 size, bool failed)
{
	return plug_row_at(slot, slot->stream, bytes, size, failed, false);
}

/* Whether the thread has a call of the stream in flight. */
static __always_inline bool slot_of_stream(__u32 stream)
{
	const struct slot *slot = slot_find(thread_here());

	return slot && slot->sessions && slot->stream == stream;
}

static __always_inline bool plug_failed(long result)
{
	return (__u64)result >= (__u64)-4095;
}

/*
 * The programs of a stream: `begins` and `ends` are functions that take a call's context, `ends`
 * with its result. The last one ends calls that a signal has interrupted.
 */
#define PLUG_PROGRAMS(id, stream, begins, ends)                                                 \
	SEC("tp_btf/sys_enter")                                                                 \
	int BPF_PROG(stream##_enter, struct pt_regs *regs, long number)                         \
	{                                                                                       \
		return begins(OF_REGS(regs));                                                   \
	}                                                                                       \
	SEC("tp_btf/sys_exit")                                                                  \
	int BPF_PROG(stream##_exit, struct pt_regs *regs, long result)                          \
	{                                                                                       \
		return ends(OF_REGS(regs), result);                                             \
	}                                                                                       \
	SEC("tp/raw_syscalls/sys_enter")                                                        \
	int stream##_enter_raw(struct raw_enter *ctx)                                           \
	{                                                                                       \
		return begins(OF_ENTER(ctx));                                                   \
	}                                                                                       \
	SEC("tp/raw_syscalls/sys_exit")                                                         \
	int stream##_exit_raw(struct raw_exit *ctx)                                             \
	{                                                                                       \
		return ends(OF_EXIT(ctx), RESULT_OF(ctx));                                      \
	}                                                                                       \
	SEC("tp_btf/signal_deliver")                                                            \
	int BPF_PROG(stream##_signal, int signal, void *info, struct k_sigaction *action)       \
	{                                                                                       \
		long result = slot_of_stream(IOTR_##id) ? slot_signalled(signal, action) : 0;   \
                                                                                                \
		return result ? ends(context_signalled(), result) : 0;                          \
	}
