/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flows: the number of a call, by which its row and those of the requests and pages that it caused are joined. It is made
 * of the thread and the time of the call, which a row of VFS has anyway, so that such a row pays nothing for it.
 */
#pragma once

#include <linux/types.h>

#define IOTR_FLOW_MASK ((1ULL << 53) - 1) /* a double has each of these numbers */

/*
 * By this the numbers of threads are apart: the golden section of 2^53. Multiples of it lie as evenly as can be, so that
 * calls that two threads begin within a second never have the same number.
 */
#define IOTR_FLOW_THREAD 0x13c6ef372fe951ULL

/*
 * The number of the call that a thread began at a time, in ns of CLOCK_MONOTONIC. 0, which stands for no call, is one in
 * 2^53. Calls of one thread have different numbers for 104 days.
 */
static inline __attribute__((always_inline)) __u64 iotr_flow(__u32 tid, __u64 start_ns)
{
	return (start_ns + tid * IOTR_FLOW_THREAD) & IOTR_FLOW_MASK;
}
