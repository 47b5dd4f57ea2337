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

/* Adds blocks for the process of a dirtier; if there is no room, it takes the place and the sum of who has fewest. */
static __always_inline void transaction_add(struct transaction *transaction, __u32 dirtier, __u32 pid, __u32 blocks)
{
	__u32 least = 0, at;

	for (at = 0; at < TRANSACTION_TASKS; at++) {
		if (transaction->of[at].pid == pid)
			break;
		if (transaction->of[at].blocks < transaction->of[least & (TRANSACTION_TASKS - 1)].blocks)
			least = at;
	}
	at = (at < TRANSACTION_TASKS ? at : least) & (TRANSACTION_TASKS - 1);
	transaction->of[at].dirtier = dirtier;
	transaction->of[at].pid = pid;
	transaction->of[at].blocks += blocks;
}

/* The current task ends a handle. A global function. */
__noinline int handle_ends(__u32 number, __u32 blocks)
{
	struct iotr_control *page = control_page();
	const struct dirtier_last *by = page ? dirtier_current(page) : NULL;
	struct task_struct *task = current_task();
	struct transaction *transaction, fresh = {};
	__u64 handle, address;

	if (!by || by->works_for_others || !blocks)
		return 0;
	handle = ADDRESS(struct task_struct, task, journal_info);
	address = handle ? address_at(handle) : 0;
	if (!address || transaction_number(address) != number)
		return 0;
	transaction = bpf_map_lookup_elem(&transactions, &address);
	if (!transaction || transaction->number != number) {
		fresh.number = number;
		bpf_map_update_elem(&transactions, &address, &fresh, BPF_ANY);
		transaction = bpf_map_lookup_elem(&transactions, &address);
	}
	if (transaction)
		transaction_add(transaction, by->number, task_tgid(task), blocks);
	return 0;
}

/* An argument of a raw tracepoint. */
#define RAW_ARGUMENT(ctx, index) (((const __u64 *)(ctx))[index])

SEC("raw_tp/jbd2_handle_stats")
int journal_handle(void *ctx)
{
	return handle_ends(RAW_ARGUMENT(ctx, 1), RAW_ARGUMENT(ctx, 7));
}

/* A journal's thread begins to commit a transaction, of which some handles may not have ended. */
SEC("raw_tp/jbd2_start_commit")
int journal_commit(void *ctx)
{
	__u64 address = RAW_ARGUMENT(ctx, 1);
	struct committed committed = { .address = address, .number = transaction_number(address) };
	__u32 tid = task_tid(current_task());

	bpf_map_update_elem(&commits, &tid, &committed, BPF_ANY);
	return 0;
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
