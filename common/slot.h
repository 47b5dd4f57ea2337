/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of a system call in flight, and what the BPF programs of all objects share besides the control page. */
#pragma once

#include <stdbool.h>

#include "control.h"

struct slot {
	__u64 thread; /* see thread_of(); this and the next two: struct thread_head */
	__u64 start_ns;
	__u64 sessions; /* 0: free */
	__u64 task; /* struct task_struct of the caller, valid until the call ends */
	__u64 torn; /* the owner whose call is invalid, as the previous owner still wrote to the slot */
	__u64 previous; /* the thread that it was taken from, if that had no call in it; otherwise 0. See also bpf/slot.bpf.h */
	__u64 parked; /* sessions of a call that waits for a signal handler to return, which makes calls itself; mostly 0 */
	__u16 number;
	__u8 abi;
	__u8 operation;
	__u8 stream;
	__u8 kind; /* enum iotr_plug_kind */
	bool pseudo; /* the file is on a pseudo file system, as found out at the end */
	__u64 flow; /* that of this call, which rows of other streams have; 0: none has: see flow.h */
	union {
		struct {
			struct iotr_file file;
			__u64 name2;
			__u64 offset;
			__s32 fd; /* descriptor of `file`, valid when has_fd */
			bool has_fd;
			bool texts; /* the names were sent at the start, from the call's path arguments */
			bool unread; /* an argument could not be read; it may be readable at the end */
		};
		__u64 own[6]; /* data of a stream other than VFS */
	};
	__u64 args[8]; /* six arguments, then what a stream adds, and a stack pointer; 8, so that an index can be masked */
	__u64 taken; /* how often it was taken by another thread; the increment is a memory barrier */
};

#define IOTR_PARKED 128 /* calls that wait for a signal handler, at most; a power of two */
#define IOTR_DRAWS 256 /* generators of random numbers, by CPU; a power of two */

/* A generator has a cache line of its own. */
struct iotr_draw {
	__u64 last __attribute__((aligned(64)));
};

/*
 * All that an object has in its section .bss, whose map is the same one in every object: see daemon/probes/map_name.h. What is
 * in a variable is found without a lookup.
 */
struct iotr_shared {
	struct iotr_control control;
	struct iotr_draw draws[IOTR_DRAWS]; /* see bpf/sample.bpf.h */
	struct slot slots[IOTR_SLOTS];	 /* calls of VFS; see bpf/slots.bpf.h */
	struct slot plugged[IOTR_PLUGGED]; /* calls of the other streams */
	struct slot parked[IOTR_PARKED]; /* of either, while a signal handler has the slot: see bpf/restarts.bpf.h */
};

/* Kernels up to 5.10 refuse an array whose value is larger than what kmalloc() gives at once. */
_Static_assert(sizeof(struct iotr_shared) <= 4 << 20, "too large for the map of the oldest kernels");
