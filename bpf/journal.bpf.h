/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For whom a file system writes its log. A process changes metadata within a transaction; how much is added up by
 * process. What the file system's own threads write of that transaction is of the process that changed most. What kernel threads
 * change by themselves, as when write-back allocates blocks, is nobody's and does not count. How transactions are told apart, and
 * which one is written, is the file system's own way: that of ext4 is below, that of XFS in xfs.bpf.h, that of btrfs in
 * btrfs.bpf.h. The tracepoints are raw ones, as file systems may be modules, whose types the kernel's BTF lacks.
 */
#pragma once

#include "direct.bpf.h"
#include "dirtier.bpf.h"

#define TRANSACTIONS	  256 /* maximum of those that are remembered; each file system has a few at a time */
#define TRANSACTION_TASKS 4   /* processes that are told apart in one; a power of two */

struct transaction {
	struct {
		__u32 dirtier; /* number of the task that changed something last; 0: none */
		__u32 pid;
		__u64 amount; /* of what it changed, in a unit of the file system's own */
	} of[TRANSACTION_TASKS];
	__u64 number; /* which tells transactions apart that have had the same key */
};

HASH_OF(transactions, LRU_HASH, __u64, struct transaction, TRANSACTIONS); /* by a key of the file system's */

/* The number of who changed most in a transaction; 0: nobody is known. A global function. */
__noinline __u32 transaction_cause(__u64 key, __u64 number)
{
	struct transaction *transaction = bpf_map_lookup_elem(&transactions, &key);
	__u32 most = 0;

	if (!transaction || transaction->number != number)
		return 0;
	for (__u32 i = 1; i < TRANSACTION_TASKS; i++)
		if (transaction->of[i].amount > transaction->of[most & (TRANSACTION_TASKS - 1)].amount)
			most = i;
	return transaction->of[most & (TRANSACTION_TASKS - 1)].dirtier;
}

/* ---- jbd2, the journal of ext4 ---- */

/*
 * At the end of a handle the kernel tells how many blocks it was about, and later which transaction the journal's thread
 * commits. The key is the address of the kernel's transaction_t, which has begun like this ever since: its journal, and its
 * number.
 */
#define TRANSACTION_NUMBER 8
#define JBD2_LENGTH	   5
#define JBD2_COMMAND	   0x2f3264626aULL /* "jbd2/", with which the command of a thread that writes a journal begins */

/* Whether the current task is the thread that writes a journal of jbd2. */
static __always_inline bool is_jbd2(void)
{
	struct task_struct *task = current_task();
	struct iotr_command command = {};

	if (!(FOLLOW(task, flags) & PF_KTHREAD))
		return false;
	task_command(task, &command);
	return (*(const __u64 *)command.text & ((1ULL << JBD2_LENGTH * 8) - 1)) == JBD2_COMMAND;
}

/* The transaction that a thread commits. */
struct committed {
	__u64 address;
	__u64 journal; /* address */
	__u64 number;
};

HASH_OF(commits, LRU_HASH, __u32, struct committed, TRANSACTIONS); /* by tid of the journal's thread */

static __always_inline __u64 transaction_number(__u64 transaction)
{
	return (__u32)address_at(transaction + TRANSACTION_NUMBER);
}

/*
 * The number of who did most for the transaction that the current task commits; 0: it does not commit any, or nobody is
 * known.
 */
static __always_inline __u32 journal_cause(void)
{
	__u32 tid = task_tid(current_task());
	struct committed *committed = bpf_map_lookup_elem(&commits, &tid);

	return committed ? transaction_cause(number_of(committed->address), committed->number) : 0;
}
