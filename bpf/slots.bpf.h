/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls in flight: preallocated slots, by thread. A slot has its owner's number, so a collision or a
 * missed exit loses one operation, which is counted, and never blocks later ones.
 *
 * A thread keeps its slot for later calls until another thread takes it. The cost of that race is on the
 * side of the thread that takes a slot. The owner only sets `sessions` before it fills in the slot, and
 * checks afterwards whether the slot is still its own.
 */
#pragma once

#include "registers.bpf.h"
#include "slot.bpf.h"

#ifndef SLOTS
#define SLOTS	    slots
#define SLOTS_OTHER 0 /* 1: they are those of streams other than VFS */
#endif

/* The thread's slot, or NULL; it may have no call in flight. */
static __always_inline struct slot *slot_find(__u64 thread)
{
	return thread_entry(THREAD_ARRAY(SLOTS), thread);
}

/* Counts the call in a slot as lost: another thread has taken the slot, or its end was not seen. */
static __always_inline void slot_unended(struct iotr_control *page, const struct slot *slot)
{
	row_unended(page, slot->stream, slot->sessions, slot->start_ns);
}

/* Takes a slot for a thread that has none, another thread's if both ways are in use. A global function. */
__noinline int slot_claim(__u64 thread)
{
	struct iotr_control *page = control_page();
	struct slot *slot = page ? thread_entry_take(page, THREAD_ARRAY(SLOTS), thread) : NULL;

	if (!slot)
		return 0;
	*(volatile __u64 *)&slot->previous = slot->thread;
	*(volatile __u64 *)&slot->thread = thread;
	__sync_fetch_and_add(&slot->taken, 1); /* a barrier before the next read: the owner may have begun a call */
	if (*(volatile __u64 *)&slot->sessions) {
		slot->previous = 0;
		slot_unended(page, slot);
	}
	slot->parked = 0;
	slot->sessions = 0;
	slot->start_ns = BEGINS_NOW;
	slot->torn = 0;
	return 0;
}

#include "restarts.bpf.h"

/*
 * The slot for a call that begins, for the sessions that accept it. The caller fills it in and then calls
 * slot_begun(). NULL: it is a call that begins once more, or another thread took the slot in this moment; then the call is
 * counted as lost.
 */
static __always_inline struct slot *slot_take(struct iotr_control *page, __u64 thread, __u32 stream, __u64 sessions)
{
	struct slot *slot = slot_find(thread);

	if (!slot) {
		slot_claim(thread);
		slot = slot_find(thread);
	}
	if (!slot) {
		row_unmatched(stream, sessions);
		return NULL;
	}
	if (!slot->sessions)
		slot->torn = 0;
	else if (slot_goes_on(thread)) /* otherwise it has set `torn` */
		return NULL;
	slot->stream = stream;
	slot->start_ns = BEGINS_NOW;
	*(volatile __u64 *)&slot->sessions = sessions;
	return slot;
}

/*
 * Whether the slot is still the thread's. If another thread has taken it, that one has counted this call as lost
 * if it saw the call, otherwise it is counted here; the slot is marked as torn, as both threads wrote to it.
 */
static __always_inline bool slot_kept(struct slot *slot, __u64 thread, __u32 stream, __u64 sessions)
{
	__u64 owner = *(volatile __u64 *)&slot->thread;

	if (owner == thread)
		return true;
	slot->torn = owner;
	if (slot->previous == thread)
		row_unmatched(stream, sessions);
	return false;
}

/* Starts the call of a slot that is filled in, for `sessions`: those that still accept it of `wanted`. */
static __always_inline void slot_begun(struct slot *slot, __u64 thread, __u32 stream, __u64 wanted, __u64 sessions)
{
	if (!slot_kept(slot, thread, stream, wanted))
		return;
	slot->start_ns = sessions ? bpf_ktime_get_ns() : 0;
	slot->sessions = sessions ?: slot->parked;
}

/* Whether the slot is of the call that ends; otherwise nothing is left to do for it. */
static __always_inline bool slot_ends(const struct slot *slot, __u64 thread, __u64 number)
{
	return (slot->number == number && slot->torn != thread) || slot_ends_late(thread);
}

/* Ends the call in the slot, which stays the thread's. */
static __always_inline void slot_done(struct slot *slot, __u64 thread)
{
	if (*(volatile __u64 *)&slot->thread != thread)
		return;
	slot->sessions = slot->parked;
}
