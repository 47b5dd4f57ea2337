/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of events that were emitted and lost, by stream and session, per CPU. */
#pragma once

#include "maps.bpf.h"

/* The members of struct iotr_counters, in their order. */
enum counter {
	COUNT_EMITTED,
	COUNT_RING,
	COUNT_UNMATCHED,
	COUNT_KINDS,
};

_Static_assert(sizeof(struct iotr_counters) == COUNT_KINDS * IOTR_SESSION_SLOTS * sizeof(__u64), "a member for each kind");

/*
 * Whether no other program can interrupt this one on its CPU and count for the same stream. Programs in interrupts can,
 * and those of other threads where the kernel preempts programs. Then counts are added atomically, which costs some 20
 * cycles.
 */
#ifndef COUNTS_ALONE
#define COUNTS_ALONE false
#endif

/* Adds to a counter of every session of the mask. A global function. */
__noinline int count_several(__u32 stream, __u32 counter, __u64 sessions, __u64 events)
{
	__u64 *count = bpf_map_lookup_elem(&counters, &stream);

	if (!count || counter >= COUNT_KINDS)
		return 0;
	count += counter * IOTR_SESSION_SLOTS;
	for (int bit = 0; bit < IOTR_SESSION_SLOTS && sessions; bit++) {
		if (sessions & 1)
			__sync_fetch_and_add(&count[bit], events);
		sessions >>= 1;
	}
	return 0;
}

static __always_inline void count_sessions(__u32 stream, __u32 counter, __u64 sessions)
{
	count_several(stream, counter, sessions, 1);
}

#define COUNTED_AT_ONCE 4 /* slots that are counted for without a loop */

/* Adds 1 to `emitted`, without a loop in the usual cases of one session, in slot 0, and of few. */
static __always_inline void count_emitted(__u32 stream, __u64 sessions)
{
	struct iotr_counters *counts;

	if (sessions != 1 && (!COUNTS_ALONE || sessions >> COUNTED_AT_ONCE)) {
		count_sessions(stream, COUNT_EMITTED, sessions);
		return;
	}
	counts = bpf_map_lookup_elem(&counters, &stream);
	if (!counts)
		return;
	if (!COUNTS_ALONE)
		__sync_fetch_and_add(&counts->emitted[0], 1);
	else if (sessions == 1)
		counts->emitted[0]++;
	else
		for (int bit = 0; bit < COUNTED_AT_ONCE; bit++)
			counts->emitted[bit] += sessions >> bit & 1;
}
