/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flows: the number of a call or of a request of io_uring, which its row and those of the requests and pages that it caused carry. It
 * is unique by itself, whatever processes the rows are of. A call gets one when the first of these begins, so that a call without any
 * pays nothing for it: the number is the time of that moment, in ticks, and the CPU, as no CPU begins I/O of two calls within a tick.
 */
#pragma once

#include <linux/types.h>

#define IOTR_FLOW_MASK	     ((1ULL << 53) - 1) /* a double has each of these numbers */
#define IOTR_FLOW_TICK_SHIFT 7 /* log2 of the nanoseconds of a tick: a system call alone takes longer, and so does a row */

/*
 * The number of the call for which a CPU, whose number has no more than so many bits, does something at a time in ns of
 * CLOCK_MONOTONIC. 0, which stands for no call, is that of the first tick after boot. Numbers repeat after 2^(60 - cpu_bits) ns: on
 * machines of 64 CPUs 208 days, of 1024 CPUs 13 days.
 */
static inline __attribute__((always_inline)) __u64 iotr_flow(__u32 cpu, __u32 cpu_bits, __u64 now_ns)
{
	return ((now_ns >> IOTR_FLOW_TICK_SHIFT) << cpu_bits | cpu) & IOTR_FLOW_MASK;
}
