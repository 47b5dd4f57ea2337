/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who asked for what a file system's log is written for: a call that waits for it, as fsync does, while a thread of the kernel's, or
 * another call, writes it. The rows of what is written have the flow of that call. It is noted when the call asks, by the
 * number of what it asks for: a transaction of jbd2, or a checkpoint of XFS. The first one that asks has it, as the others find it
 * under way. The tracepoints are a file system's, and so raw ones: see journal.bpf.h.
 */
#pragma once

#include "journal.bpf.h"

#define ASKED_OF_LOG 8 /* numbers of one log that are remembered, a power of two: each has an address within the log as its key */

struct asked {
	__u64 number;
	__u64 flow;    /* of the call; 0: none is known */
	__u32 dirtier; /* number of the task that makes it */
	__u32 pad;
};

HASH_OF(asked, LRU_HASH, __u64, struct asked, TRANSACTIONS);

static __always_inline __u64 asked_key(__u64 log, __u64 number)
{
	return number_of(log) + (number & (ASKED_OF_LOG - 1));
}

/* Who asked for a number of a log; NULL: nobody is known. */
static __always_inline struct asked *asked_find(__u64 log, __u64 number)
{
	__u64 key = asked_key(log, number);
	struct asked *found = bpf_map_lookup_elem(&asked, &key);

	return found && found->number == number ? found : NULL;
}

/* The numbers of a log that was made anew say nothing of those of an earlier one at its address. */
static __always_inline void asked_forget(__u64 log)
{
	for (__u32 i = 0; i < ASKED_OF_LOG; i++) {
		__u64 key = asked_key(log, i);

		bpf_map_delete_elem(&asked, &key);
	}
}

static __always_inline bool ext4_is_known(const struct iotr_control *page)
{
	return page && page->ext4.journal && page->jbd2.committed;
}
