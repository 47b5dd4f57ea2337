/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of a call under way. */
#pragma once

#include "calls.bpf.h"

struct slot {
	__u64 thread; /* see thread_of(); this and the next two: struct place_head */
	__u64 start_ns;
	__u64 sessions; /* 0: free */
	__u64 task; /* struct task_struct of who makes the call, until that ends */
	__u16 number;
	__u8 abi;
	__u8 operation;
	__u8 stream;
	__u8 kind; /* enum iotr_plug_kind */
	bool pseudo; /* on a pseudo file system, as far as its end shows */
	bool moves; /* its success may make known names wrong, whoever wants its row */
	union {
		struct {
			struct iotr_file file;
			__u64 name2;
			__u64 offset;
			__s32 fd; /* of `file`, where has_fd */
			bool has_fd;
		};
		__u64 own[6]; /* what a stream other than VFS notes */
	};
	__u64 args[8]; /* six are used, so that a position can be masked */
};
