/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs of bpf/timing.bpf.c and the daemon share: how long operations took and how they failed, counted in
 * the kernel by operation. A watch is one operation of which somebody wants to know.
 */
#pragma once

#include <linux/types.h>

#include "control.h"

#define IOTR_TIMING_WATCHES 64	/* operations that are watched at once, at most */
#define IOTR_TIMING_FLIGHT  16384 /* calls and requests in flight of which the beginning is known, at most */
#define IOTR_TIMING_ERRNOS  136 /* numbers of errors that are told apart; above all that the kernel gives to user space */

/*
 * Buckets of latencies in units of 128 ns: below 8 units one each, and from there 8 for each doubling. What is longer than
 * some 550 s is in the last one.
 */
#define IOTR_TIMING_BUCKETS 240
#define IOTR_TIMING_UNIT_NS 128

/* Of one watch on one CPU, since the programs were loaded. Numbers of 32 bits wrap around. */
struct iotr_timing {
	__u64 ended; /* operations, also those that failed */
	__u64 failed;
	__u64 latency_ns; /* sum over all of them */
	__u32 latency[IOTR_TIMING_BUCKETS];
	__u32 errnos[IOTR_TIMING_ERRNOS]; /* by errno; 0: of one that has no place here */
};

/* How a system call is counted. A watch is its number plus 1; 0: none. */
struct iotr_timed_call {
	__u8 watch;
	__u8 other; /* watch of the operation that it is with O_DIRECT or, as `removes`, with AT_REMOVEDIR */
	__u8 fd; /* position of the descriptor, from 1, whose file decides whether the call counts; 0: none */
	__u8 kind; /* enum iotr_timed_kind */
};

enum iotr_timed_kind {
	IOTR_TIMED_PLAIN,
	IOTR_TIMED_DIRECT,  /* `other` is meant where the file is open with O_DIRECT */
	IOTR_TIMED_REMOVES, /* `other` is meant where the third argument has AT_REMOVEDIR */
	IOTR_TIMED_LOCKS,   /* fcntl: only where its command is about a lock */
	IOTR_TIMED_OPENS,   /* the result is the descriptor whose file decides */
};

struct iotr_timing_table {
	struct iotr_timed_call calls[IOTR_ABI_COUNT][IOTR_CALLS];
	__u8 block[256]; /* by the kernel's REQ_OP_*: a watch plus 1; 0: none */
};
