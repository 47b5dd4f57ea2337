/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slots, by thread: see common/slot.h. */
#pragma once

#include "calls.bpf.h"

/* What `previous` says in a slot whose `torn` is its thread, see restarts.bpf.h; any other value: the slot is torn. */
#define CALL_BROKEN    (~0ULL)	   /* its call was interrupted */
#define HANDLER_CALLS  (~0ULL - 1) /* its call is one of a signal handler, while an earlier one is parked */
#define HANDLER_CALLED (~0ULL - 2) /* it has no call, while one is parked */

/* Whether what is in the slot is no call, or not of one thread alone. */
static __always_inline bool slot_torn(const struct slot *slot)
{
	return slot->torn == slot->thread && slot->previous != CALL_BROKEN && slot->previous != HANDLER_CALLS;
}

#define BEGINS_NOW (~0ULL) /* later than any time: the start of a call whose slot is still being filled in */
