/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of streams other than VFS: who records one that begins, which stream has one in flight that ends, and the tail calls to
 * the programs of that stream. Those in flight have slots of their own, as a call may make a row of VFS as well.
 */
#pragma once

#include "slot.bpf.h"

/* ---- a call that begins ---- */

/* Its row in the table of plugs, and its ABI; NULL: no session records it. */
static __always_inline const struct iotr_plug *plug_of(struct iotr_control *page, struct call_context context,
						       struct task_struct **task, __u32 *abi)
{
	const struct iotr_plug *plug;
	__u64 number = context.number;

	if (!page || !page->plugged || number >= IOTR_CALLS)
		return NULL;
	plug = page->plugs[IOTR_ABI_NATIVE] + call_index(number);
	if (!plug[0].sessions && !plug[IOTR_CALLS].sessions)
		return NULL;
	*task = current_task();
	*abi = abi_of(*task);
	if (*abi == IOTR_ABI_COMPAT)
		plug += IOTR_CALLS;
	return plug->sessions ? plug : NULL;
}

/* The stream whose program is tail called when a call begins; IOTR_VFS: none. Includes the first sampling draw. */
static __always_inline __u32 plug_beginning(struct call_context context)
{
	struct iotr_control *page = control_page();
	const struct iotr_plug *plug;
	struct task_struct *task;
	__u32 abi;

	plug = plug_of(page, context, &task, &abi);
	return plug && sample_first(page, plug->stream, plug->sessions) ? plug->stream : IOTR_VFS;
}

/* ---- a call that ends ---- */

/* Whether the CACHE stream is recorded: its program runs at the end of every call, and tail calls the other. */
static __always_inline bool cache_wanted(void)
{
	struct iotr_control *page = control_page();

	return page && page->wanted[IOTR_CACHE];
}

/* Whether any call may have a slot. */
static __always_inline bool plugged_any(void)
{
	struct iotr_control *page = control_page();

	return page && page->plugged;
}

/* The stream that has a slot for the call that ends, where plugged_any(); IOTR_VFS: none. */
static __always_inline __u32 plug_ending(struct call_context context)
{
	const struct slot *slot = thread_entry(THREAD_ARRAY(plugged), thread_of(context));

	return slot && slot->sessions ? slot->stream : IOTR_VFS;
}

#define PLUG_GO_ON(ctx, programs, stream)                                                       \
	({                                                                                      \
		__u32 stream_ = stream;                                                         \
		if (stream_ != IOTR_VFS)                                                        \
			bpf_tail_call(ctx, programs, stream_);                                  \
		0;                                                                              \
	})

#define PLUG_ENTER(ctx, context) PLUG_GO_ON(ctx, &plug_enters, plug_beginning(context))
#define PLUG_EXIT(ctx, context)	 (plugged_any() ? PLUG_GO_ON(ctx, &plug_exits, plug_ending(context)) : 0)

#define GO_ON_AT_EXIT(ctx, context)                                                             \
	({                                                                                      \
		if (cache_wanted())                                                             \
			bpf_tail_call(ctx, &plug_exits, IOTR_CACHE);                            \
		PLUG_EXIT(ctx, context);                                                        \
	})

/* Reads the registers from the context again, which saves stack. */
#define REGS_AFRESH(ctx)                                                                        \
	({                                                                                      \
		struct pt_regs *again_ = (struct pt_regs *)CONTEXT_WORD(ctx, 0);                \
		OF_REGS(again_);                                                                \
	})
