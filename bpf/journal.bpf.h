/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For whom jbd2, the journal of ext4, writes. A process changes metadata between begin and end of a handle, at whose end
 * the kernel tells how many blocks it was about; they are added up for the transaction that the handle is part of. When
 * the journal's thread commits that transaction, its writes are of the process with most blocks. What kernel threads did
 * in handles of their own, as when write-back allocates blocks, is nobody's and does not count. The tracepoints are raw
 * ones, as jbd2 may be a module, whose types the kernel's BTF lacks.
 */
#pragma once

#include "direct.bpf.h"
#include "dirtier.bpf.h"

#define TRANSACTIONS	  256 /* maximum of those that are remembered; each journal has two at a time */
#define TRANSACTION_TASKS 4   /* processes that are told apart in one; a power of two */

/* In the kernel's transaction_t, which has begun like this ever since: its journal, and its number. */
#define TRANSACTION_NUMBER 8

struct transaction {
	struct {
		__u32 dirtier; /* number of the task that ended a handle last; 0: none */
		__u32 pid;
		__u64 blocks;
	} of[TRANSACTION_TASKS];
	__u64 number; /* which tells transactions apart that have had the same address */
};

/* The transaction that a thread commits. */
struct committed {
	__u64 address;
	__u64 number;
};

HASH_OF(transactions, LRU_HASH, __u64, struct transaction, TRANSACTIONS); /* by address */
HASH_OF(commits, LRU_HASH, __u32, struct committed, TRANSACTIONS); /* by tid of the journal's thread */

static __always_inline __u64 transaction_number(__u64 transaction)
{
	return (__u32)address_at(transaction + TRANSACTION_NUMBER);
}

/*
 * The number of who did most for the transaction that the current task commits; 0: it does not commit any, or nobody is
 * known. A global function.
 */
__noinline __u32 journal_cause(void)
{
	__u32 tid = task_tid(current_task()), most = 0;
	struct committed *committed = bpf_map_lookup_elem(&commits, &tid);
	struct transaction *transaction;

	transaction = committed ? bpf_map_lookup_elem(&transactions, &committed->address) : NULL;
	if (!transaction || transaction->number != committed->number)
		return 0;
	for (__u32 i = 1; i < TRANSACTION_TASKS; i++)
		if (transaction->of[i].blocks > transaction->of[most & (TRANSACTION_TASKS - 1)].blocks)
			most = i;
	return transaction->of[most & (TRANSACTION_TASKS - 1)].dirtier;
}
