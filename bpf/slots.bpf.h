/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls under way: preallocated slots, two-way associative by thread. A slot knows its owner, so a
 * collision or a missed exit costs one operation, which is counted, and never blocks later ones.
 */
#pragma once

#include "calls.bpf.h"

#ifndef SLOTS
#define SLOTS	    slots
#define SLOTS_COUNT IOTR_SLOTS
#endif

struct slot {
	__u64 start_ns;
	__u64 sessions; /* 0: free */
	__u64 thread; /* see thread_of() */
	__u64 task; /* struct task_struct of who makes the call, until that ends */
	__u16 number;
	__u8 abi;
	__u8 operation;
	__u8 stream;
	__u8 kind; /* enum iotr_plug_kind */
	bool pseudo; /* on a pseudo file system, as far as its end shows */
	bool moves; /* its success may make known names wrong, whoever wants its row */
	union {
		struct {
			struct iotr_file file;
			__u64 name2;
			__u64 offset;
			__s32 fd; /* of `file`, where has_fd */
			bool has_fd;
		};
		__u64 own[6]; /* what a stream other than VFS notes */
	};
	__u64 args[8]; /* six are used, so that a position can be masked */
};

ARRAY_OF(SLOTS, struct slot, SLOTS_COUNT, 0);

static __always_inline struct slot *slot_at(__u64 thread, __u32 way)
{
	__u32 index = ((__u32)iotr_mix(0, thread) ^ way) & (SLOTS_COUNT - 1);

	return bpf_map_lookup_elem(&SLOTS, &index);
}

/* The slot of the thread's call under way, or NULL. */
static __always_inline struct slot *slot_find(__u64 thread)
{
	struct slot *slot = slot_at(thread, 0);

	if (slot && slot->thread == thread)
		return slot;
	slot = slot_at(thread, 1);
	return slot && slot->thread == thread ? slot : NULL;
}

static __always_inline bool slot_free(struct iotr_control *page, struct slot *slot, __u64 thread)
{
	return slot->thread == thread || !filter_begun(page, slot->sessions, slot->start_ns);
}

/* A slot for the thread; takes another thread's when both of its ways are in use. */
static __always_inline struct slot *slot_take(struct iotr_control *page, __u64 thread)
{
	struct slot *slot = slot_find(thread);

	if (slot)
		return slot;
	slot = slot_at(thread, 0);
	if (!slot || slot_free(page, slot, thread))
		return slot;
	slot = slot_at(thread, 1);
	if (slot && !slot_free(page, slot, thread))
		row_unmatched(slot->stream, slot->sessions);
	return slot;
}
