/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls as rows of streams other than VFS. Such a stream has one program that begins a
 * call and one that ends it, on sys_enter and sys_exit; syscalls.bpf.c goes on to them when the
 * table of plugs says that somebody wants the call. Calls under way have slots of their own, as a
 * call may be a row of VFS at the same time.
 */
#pragma once

#define SLOTS	    plugged
#define SLOTS_COUNT IOTR_PLUGGED

#include "calls.bpf.h"
#include "slots.bpf.h"

/* The slot of a call that begins, with its arguments and start; NULL when no session wants it. */
static __always_inline struct slot *plug_begins(struct call_context context)
{
	struct iotr_control *page = control_page();
	struct task_struct *task = current_task();
	__u64 number = context.number, sessions;
	__u32 abi = abi_of(task), tgid = task_tgid(task);
	const struct iotr_plug *plug;
	struct slot *slot;

	if (!page || number >= IOTR_CALLS || tgid == page->own_tgid)
		return NULL;
	plug = page->plugs[IOTR_ABI_NATIVE] + call_index(number);
	if (abi == IOTR_ABI_COMPAT)
		plug += IOTR_CALLS;
	sessions = plug->sessions & ~page->filtered[IOTR_FILTER_DEVICE]; /* rows without a device */
	sessions = filter_task(page, task, sessions, tgid);
	if (!sessions)
		return NULL;
	slot = slot_take(page, task_tid(task));
	if (!slot)
		return NULL;
	arguments(slot->args, context, abi);
	slot->tid = task_tid(task);
	slot->number = number;
	slot->abi = abi;
	slot->stream = plug->stream;
	slot->operation = plug->operation;
	slot->kind = plug->kind;
	slot->sessions = sessions;
	slot->start_ns = bpf_ktime_get_ns();
	return slot;
}

/* The slot of the call that ends, to be given back with plug_done(); NULL when it has none. */
static __always_inline struct slot *plug_ends(struct call_context context)
{
	struct slot *slot = slot_find(task_tid(current_task()));
	struct iotr_control *page = control_page();

	if (!page || !slot || !slot->sessions)
		return NULL;
	if (slot->start_ns >= page->attached_ns && context.number == slot->number)
		return slot;
	slot->sessions = 0;
	return NULL;
}

static __always_inline void plug_done(struct slot *slot)
{
	slot->sessions = 0;
}

/*
 * The row of the call that ends, its head filled in, or NULL. `size` is what filters take for the
 * size of the operation, IOTR_UNKNOWN: it has none.
 */
static __always_inline void *plug_row(const struct slot *slot, __u32 bytes, __u64 size, bool failed)
{
	struct iotr_control *page = control_page();
	struct task_struct *task = current_task();
	__u64 end = bpf_ktime_get_ns(), sessions = slot->sessions;
	struct iotr_command command;
	void *row;

	if (!page)
		return NULL;
	sessions &= page->operation[slot->stream & 15][slot->operation & (IOTR_OPERATIONS_MAX - 1)];
	sessions = filter_end(page, sessions, end - slot->start_ns, size, failed);
	task_command(task, &command);
	if (!sessions || command_is_ours(&command))
		return NULL;
	row = row_begin(slot->stream, bytes, sessions);
	if (!row)
		return NULL;
	head_fill(row, bytes, slot->stream, slot->operation, sessions, slot->start_ns, end);
	head_fill_current(row, task, &command);
	return row;
}

static __always_inline bool plug_failed(long result)
{
	return (__u64)result >= (__u64)-4095;
}

/*
 * The programs of a stream: `begins` and `ends` are functions that take a call's context, `ends`
 * with its result.
 */
#define PLUG_PROGRAMS(stream, begins, ends)                                                     \
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
		return ends(OF_EXIT(ctx), RESULT_OF(ctx));                                         \
	}
