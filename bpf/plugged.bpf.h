/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls in flight of streams other than VFS, and the tail call from the program on sys_exit to that of
 * their stream. They have slots of their own, as a call may make a row of VFS as well.
 */
#pragma once

#include "slot.bpf.h"

/* The stream that has a slot for the call that ends; IOTR_VFS: none. */
static __always_inline __u32 plug_ending(struct call_context context)
{
	const struct iotr_control *page = control_page();
	const struct slot *slot;

	if (!page || !page->plugged)
		return IOTR_VFS;
	slot = thread_entry(THREAD_ARRAY(plugged), thread_of(context));
	return slot && slot->sessions ? slot->stream : IOTR_VFS;
}

#define PLUG_GO_ON(ctx, programs, stream)                                                       \
	({                                                                                      \
		__u32 stream_ = stream;                                                         \
		if (stream_ != IOTR_VFS)                                                        \
			bpf_tail_call(ctx, programs, stream_);                                  \
		0;                                                                              \
	})

#define PLUG_EXIT(ctx, context) PLUG_GO_ON(ctx, &plug_exits, plug_ending(context))

/* Reads the registers from the context again, which saves stack. */
#define REGS_AFRESH(ctx) OF_REGS((struct pt_regs *)CONTEXT_WORD(ctx, 0))
