/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls under way: preallocated slots, by thread. A slot knows its owner, so a collision or a
 * missed exit costs one operation, which is counted, and never blocks later ones.
 */
#pragma once

#include "slot.bpf.h"

#ifndef SLOTS
#define SLOTS	    slots
#define SLOTS_COUNT IOTR_SLOTS
ARRAY_OF(SLOTS, struct slot, SLOTS_COUNT, 0);
#endif

/* The slot of the thread's call under way, or NULL. */
static __always_inline struct slot *slot_find(__u64 thread)
{
	return place_find(&SLOTS, SLOTS_COUNT, thread);
}

/* A slot for the thread; takes another thread's when both of its ways are in use. */
static __always_inline struct slot *slot_take(struct iotr_control *page, __u64 thread)
{
	struct slot *slot = slot_find(thread);

	if (slot)
		return slot;
	slot = place_take(page, &SLOTS, SLOTS_COUNT, thread);
	if (slot && slot->sessions)
		row_unended(page, slot->stream, slot->sessions, slot->start_ns);
	return slot;
}
