/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of rows from reservation to commit, and events without one: no end was seen, or there was no room. */
#pragma once

#include "count.bpf.h"
#include "filters.bpf.h"

/* The first word of a record, which is written at once. */
static __always_inline void head_begin(struct iotr_record *head, __u32 stream, __u32 operation, __u32 size, __u32 cpu)
{
	const __u64 shifts = 8; /* bits of a byte */

	*(__u64 *)head = size | (__u64)stream << offsetof(struct iotr_record, stream) * shifts |
			 (__u64)operation << offsetof(struct iotr_record, operation) * shifts |
			 (__u64)cpu << offsetof(struct iotr_record, cpu) * shifts;
}

/* Room for a record in the ring of a CPU, which is looked up, or NULL. `at_hand`, a constant: not where there is only one ring. */
static __always_inline void *row_room(__u32 cpu, __u32 size, bool at_hand)
{
	__u32 index = cpu >> ring_shift;
	void *ring;

	if (at_hand && ring_shift == IOTR_RING_ALONE)
		return bpf_ringbuf_reserve(&row_ring, size, 0);
	ring = bpf_map_lookup_elem(&rings, &index);
	return ring ? bpf_ringbuf_reserve(ring, size, 0) : NULL;
}

/*
 * Reserves a record in the ring, and puts in what it is of, and its CPU; NULL: the ring is full, which is counted as a loss of
 * the sessions. For `at_hand` see row_room().
 */
static __always_inline void *row_begin_at(__u32 stream, __u32 operation, __u32 size, __u64 sessions, bool at_hand)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct iotr_record *row;

	count_emitted(stream, sessions);
	row = row_room(cpu, size, at_hand);
	if (row)
		head_begin(row, stream, operation, size, cpu);
	else
		count_sessions(stream, COUNT_RING, sessions);
	return row;
}

/* From a record on the verifier tells all ways to it apart, of which the lookup leaves one: so large programs have it. */
static __always_inline void *row_begin(__u32 stream, __u32 operation, __u32 size, __u64 sessions)
{
	return row_begin_at(stream, operation, size, sessions, false);
}

/*
 * Sets all bytes of a record to 0 but the first ones, a multiple of 8. The compiler has to know how they are aligned, or sets one
 * after the other.
 */
static __always_inline void row_clear_from(void *row, __u32 first, __u32 size)
{
	__builtin_memset(__builtin_assume_aligned(row + first, sizeof(__u64)), 0, size - first);
}

/* The same for a record of row_begin(), but those that are filled in already. */
static __always_inline void row_clear(void *row, __u32 size)
{
	row_clear_from(row, sizeof(__u64), size);
}

static __always_inline void row_commit(void *row)
{
	bpf_ringbuf_submit(row, BPF_RB_NO_WAKEUP);
}

/* Discards a record that was reserved, and counts it as lost for its sessions. */
static __always_inline void row_void(void *row, __u32 stream, __u64 sessions)
{
	bpf_ringbuf_discard(row, BPF_RB_NO_WAKEUP);
	count_sessions(stream, COUNT_UNMATCHED, sessions);
}

/* Counts an event whose start is not known (any more) as emitted and lost. */
static __always_inline void row_unmatched(__u32 stream, __u64 sessions)
{
	count_sessions(stream, COUNT_EMITTED, sessions);
	count_sessions(stream, COUNT_UNMATCHED, sessions);
}

/* The same for an event whose end was not seen, and whose entry is needed for another. */
static __always_inline void row_unended(struct iotr_control *page, __u32 stream, __u64 sessions, __u64 start)
{
	row_unmatched(stream, filter_begun(page, sessions, start));
}

/*
 * Drops the event in flight that has the key of one that begins: its end was not seen, and it must not end
 * with that of the new one. `type` has the members `sessions` and `start_ns`.
 */
#define END_UNSEEN(stream, map, type, key)                                                        \
	do {                                                                                    \
		const type *unseen_ = bpf_map_lookup_elem(&map, &key);                          \
		struct iotr_control *page_ = control_page();                                    \
                                                                                                \
		if (page_ && unseen_) {                                                         \
			row_unended(page_, stream, unseen_->sessions, unseen_->start_ns);       \
			bpf_map_delete_elem(&map, &key);                                        \
		}                                                                               \
	} while (0)

/* Fills the head of a record of row_begin(), except what is the actor's. */
static __always_inline void head_fill(struct iotr_record *head, __u64 sessions, __u64 start, __u64 end)
{
	head->sessions = sessions;
	head->start_ns = start;
	head->latency_ns = end - start;
}

/* Fills the actor's part of a head with the current thread, except its command. */
static __always_inline void head_fill_task(struct iotr_record *head, struct task_struct *task)
{
	if (TASK_IS_TYPED) { /* one branch for all, which the verifier takes out */
		head->cgroup_id = task->cgroups->dfl_cgrp->kn->id;
		head->pid = task->tgid;
		head->tid = task->pid;
		head->ppid = task->real_parent->tgid;
		head->uid = task->cred->uid.val;
		return;
	}
	head->cgroup_id = task_cgroup(task);
	head->pid = task_tgid(task);
	head->tid = task_tid(task);
	head->ppid = task_ppid(task);
	head->uid = task_uid(task);
}

static __always_inline void head_fill_current(struct iotr_record *head, struct task_struct *task)
{
	head_fill_task(head, task);
	task_command(task, (struct iotr_command *)head->command);
}
