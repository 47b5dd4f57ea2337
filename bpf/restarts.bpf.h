/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that a signal, a stop or work for the thread interrupts, and that the kernel makes once more: one call to the program, and
 * one row. The end of such a call has one of the kernel's internal codes, and what becomes of it is known later: where a
 * signal is delivered, the program sees EINTR, or dies; otherwise the call begins again, at once or when a handler has
 * returned. Until then the call stays in its slot. It is known again by its number and by the stack pointer of user space,
 * which a handler that makes the same call does not have. If that one is recorded too, the first one is parked.
 *
 * All of that is for slots whose `torn` is their thread, or that are still in use when a call begins: no other call pays for it.
 */
#pragma once

#include "signals.bpf.h"

#define ARG_STACK      7 /* in the slot, after the arguments: the stack pointer of the call that was interrupted */
#define HANDLER_CALLS_MAX 1024 /* then the handler has not returned, but jumped, say */

#define NR_RESTART_SYSCALL	  219
#define NR_RESTART_SYSCALL_COMPAT 0

/* Whether the call that the thread is in is the one in the slot, which was interrupted, and begins or ends once more. */
static __always_inline bool is_again(const struct slot *slot)
{
	struct pt_regs *regs = user_registers();
	__u64 number = REGISTER(regs, orig_ax);

	if (REGISTER(regs, sp) != slot->args[ARG_STACK])
		return false;
	return number == slot->number ||
	       number == (slot->abi == IOTR_ABI_COMPAT ? NR_RESTART_SYSCALL_COMPAT : NR_RESTART_SYSCALL);
}

static __always_inline struct slot *parked_of(__u64 thread)
{
	__u32 index = ((__u32)thread << 1 | SLOTS_OTHER) & (IOTR_PARKED - 1);
	struct slot *entry = (void *)parked + index * sizeof(parked[0]);

	return entry;
}

static __always_inline void slot_mark(struct slot *slot, __u64 thread, __u64 state)
{
	slot->torn = thread;
	slot->previous = state;
}

/* Keeps the interrupted call of the slot elsewhere. What is there already has to give way: its row will begin where it is restarted. */
static __always_inline void slot_park(struct slot *slot, __u64 thread)
{
	struct slot *entry = parked_of(thread);

	*entry = *slot;
	entry->taken = 0;
	slot->parked = slot->sessions;
}

/* Puts the parked call back if it is the one that begins or ends. */
static __always_inline bool slot_unpark(struct slot *slot, __u64 thread)
{
	struct slot *entry = parked_of(thread);

	if (entry->thread != thread || !entry->sessions || !is_again(entry))
		return false;
	*slot = *entry;
	slot->parked = 0;
	entry->sessions = 0;
	return true;
}

/* A handler makes a call, while an earlier one is parked: that is given up in the end, and the slot is an ordinary one again. */
static __always_inline bool slot_handler_calls(struct iotr_control *page, struct slot *slot, __u64 thread)
{
	struct slot *entry = parked_of(thread);

	if (slot->previous == HANDLER_CALLS)
		slot_unended(page, slot);
	if (entry->thread == thread && entry->sessions && ++entry->taken < HANDLER_CALLS_MAX)
		return true;
	if (entry->thread == thread && entry->sessions) {
		slot_unended(page, entry);
		entry->sessions = 0;
	}
	slot->parked = 0;
	return false;
}

/*
 * A call begins while the thread's slot is in use. Returns whether it is the call in there, or a parked one, once more;
 * otherwise the slot is for the new one, and its `torn` is set. A global function.
 */
__noinline int slot_goes_on(__u64 thread)
{
	struct iotr_control *page = control_page();
	struct slot *slot = slot_find(thread);
	bool handler = false;

	if (!page || !slot)
		return 0;
	if (slot->torn != thread) { /* the end of the call before was not seen */
		slot_unended(page, slot);
	} else if (slot->previous == CALL_BROKEN) {
		if (is_again(slot))
			return 1;
		slot_park(slot, thread);
		handler = true;
	} else if (slot->previous >= HANDLER_CALLED) {
		if (slot_unpark(slot, thread))
			return 1;
		handler = slot_handler_calls(page, slot, thread);
	}
	if (handler)
		slot_mark(slot, thread, HANDLER_CALLS);
	else
		slot->torn = 0;
	return 0;
}

/* The call in the slot has ended: what is left is the parked one, if there is any. */
static __always_inline void slot_settled(struct slot *slot, __u64 thread)
{
	if (slot->parked)
		slot_mark(slot, thread, HANDLER_CALLED);
	else
		slot->torn = 0;
}

/*
 * A call ends that is not the one in the thread's slot, or not as others do. Returns whether it is that one after all;
 * otherwise nothing is left to do for the call. A global function.
 */
__noinline int slot_ends_late(__u64 thread)
{
	struct iotr_control *page = control_page();
	struct slot *slot = slot_find(thread);
	__u64 state;

	if (!page || !slot)
		return 0;
	state = slot->torn == thread ? slot->previous : 0;
	if (state == CALL_BROKEN ? is_again(slot) :
	    state == HANDLER_CALLS ? slot->number == (__u16)REGISTER(user_registers(), orig_ax) :
	    state == HANDLER_CALLED && slot_unpark(slot, thread)) {
		slot_settled(slot, thread);
		return 1;
	}
	if (state >= HANDLER_CALLED)
		return 0; /* it is a handler's, which no session records */
	slot_unended(page, slot);
	if (slot->thread == thread)
		slot->sessions = 0;
	return 0;
}

/* The call of the slot ends with one of the kernel's codes: it stays there. A global function. */
__noinline int slot_breaks(__u64 thread)
{
	struct slot *slot = slot_find(thread);

	if (!slot)
		return 0;
	slot->args[ARG_STACK] = REGISTER(user_registers(), sp);
	slot_mark(slot, thread, CALL_BROKEN);
	return 0;
}

/*
 * What signal_result() is for the call in the thread's slot, which that ends. No program saw an error of a call that its thread died in:
 * sessions that record errors alone do not accept it.
 */
static __always_inline long slot_signalled(int signal, struct k_sigaction *action)
{
	struct iotr_control *page = control_page();
	__u64 thread = thread_here();
	struct slot *slot = slot_find(thread);
	long result;

	if (!page || !slot || !slot->sessions || slot->torn != thread || slot->previous != CALL_BROKEN)
		return 0;
	result = signal_result(signal, action);
	if (result == -IOTR_DIED)
		slot->sessions &= ~page->filtered[IOTR_FILTER_ERRORS];
	return result;
}
