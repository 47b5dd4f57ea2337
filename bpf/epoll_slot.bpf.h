/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the slot of a call that waits for descriptors, or prepares that, has beside its arguments. */
#pragma once

#include "files.bpf.h"
#include "plug.bpf.h"

/*
 * The timeout is saved at the start, as the call may overwrite it with the time that was left; which descriptors were ready is
 * noted at the end.
 */
enum {
	OWN_STATE,
	OWN_TIMEOUT,
	OWN_READY, /* descriptors, two in each word */
};

/* OWN_STATE: bits, and above them how many descriptors were noted. */
enum {
	HAS_TIMEOUT = 1,
	TIMEOUT_UNREAD = 2,
	READY_ONE = 256,
};

_Static_assert(IOTR_READY_MAX / 2 <= 6 - OWN_READY, "no room for those that were ready");

static __always_inline __u32 ready_count(const struct slot *slot)
{
	return slot->own[OWN_STATE] / READY_ONE;
}

/* Notes a descriptor that was ready, as long as there is room. */
static __always_inline void ready_add(struct slot *slot, __s32 fd)
{
	__s32 *ready = (__s32 *)&slot->own[OWN_READY];
	__u64 count = ready_count(slot);

	if (count >= IOTR_READY_MAX)
		return;
	asm volatile("%0 &= %1" : "+r"(count) : "i"(IOTR_READY_MAX - 1)); /* the verifier wants it right before the use */
	ready[count] = fd;
	slot->own[OWN_STATE] += READY_ONE;
}
