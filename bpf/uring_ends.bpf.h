/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completions of io_uring, and the requests that they are of. Some do not tell: those of a multishot
 * request but the last, and those that find no room in the ring. A program that includes this has
 * completed(), and a map of requests under way by uring_key(); it defines REPEATS, the name for one
 * of those with several completions, first.
 */
#pragma once

#include "uring.bpf.h"

/* What a completion that does not tell its request says of it: `user_data` is the program's number. */
struct uring_number {
	__u64 ring; /* the kernel's address */
	__u64 user_data;
};

HASH_OF(REPEATS, HASH, struct uring_number, __u64, IOTR_URING);

/*
 * The request ends with the last completion. It is NULL on kernels that do not tell it; those know
 * none of the ways below.
 */
static __always_inline int completed(struct io_kiocb *request, __u64 key, __s32 result, bool last);

/* Whether the request at an address is the one that is meant, or has its place by now. */
static __always_inline bool uring_is(struct io_kiocb *request, const struct uring_number *number)
{
	return bpf_core_field_exists(struct io_kiocb, cqe) &&
	       READ(struct io_kiocb, request, cqe.user_data) == number->user_data &&
	       low_half((__u64)READ(struct io_kiocb, request, ctx)) == low_half(number->ring);
}

/* ---- requests with several completions ---- */

/* Kernels that do not tell the request have none of these. */
static __always_inline struct uring_number number_read(struct io_kiocb *request)
{
	struct uring_number number = { (__u64)READ(struct io_kiocb, request, ctx), 0 };

	if (bpf_core_field_exists(struct io_kiocb, cqe))
		number.user_data = READ(struct io_kiocb, request, cqe.user_data);
	return number;
}

/* False: there is no room. */
static __always_inline bool repeat_note(struct io_kiocb *request)
{
	struct uring_number number = number_read(request);
	__u64 key = uring_key(request);

	return !bpf_map_update_elem(&REPEATS, &number, &key, BPF_ANY);
}

static __always_inline struct io_kiocb *repeat_find(const struct uring_number *number)
{
	__u64 *key = bpf_map_lookup_elem(&REPEATS, number);

	return key && uring_is((struct io_kiocb *)*key, number) ? (struct io_kiocb *)*key : NULL;
}

static __always_inline void repeat_forget(struct io_kiocb *request)
{
	struct uring_number number = number_read(request);
	__u64 *noted = bpf_map_lookup_elem(&REPEATS, &number);

	if (noted && *noted == uring_key(request)) /* not another one of the same number */
		bpf_map_delete_elem(&REPEATS, &number);
}

/* Without a request it is one of several completions. */
static __always_inline int told(void *ring, struct io_kiocb *request, __u64 user_data, __s32 result,
				__u32 flags)
{
	struct uring_number number = { (__u64)ring, user_data };
	bool last = request || !(flags & CQE_MORE);

	if (flags & CQE_NOTIFICATION)
		return 0;
	request = request ?: repeat_find(&number);
	return request ? completed(request, uring_key(request), result, last) : 0;
}

/* On the oldest kernels, by uring_key_510(). */
static __always_inline int told_by_number(void *ring, __u64 user_data, __s32 result, __u32 flags)
{
	return completed(NULL, uring_key_510(ring, user_data), result, true);
}

/* ---- completions without room ---- */

#define BATCH_MAX    256  /* requests of a batch that are looked at */
#define PF_IO_WORKER 0x10 /* flag of a task */

struct overflow {
	void *requests; /* the program's map of them */
	struct uring_number number;
	__s32 result;
	__u32 flags;
	__u64 node;  /* of the batch, the next to be looked at */
	__u64 found; /* key of the request, 0: none */
	bool alike;  /* one of the batch has such a result */
};

/* The kernel has set the request's result. */
static __always_inline bool overflow_is(struct io_kiocb *request, const struct overflow *overflow)
{
	return uring_is(request, &overflow->number) &&
	       READ(struct io_kiocb, request, cqe.res) == overflow->result &&
	       READ(struct io_kiocb, request, cqe.flags) == overflow->flags;
}

/* Of several alike it is the first still under way: of what has been told nothing is known any more. */
static long overflow_next(__u32 index, struct overflow *overflow)
{
	__u64 key = overflow->node - bpf_core_field_offset(struct io_kiocb, comp_list);

	if (!overflow->node)
		return 1;
	overflow->node = ADDRESS(struct io_wq_work_node, overflow->node, next);
	if (!overflow_is((struct io_kiocb *)key, overflow))
		return 0;
	overflow->alike = true;
	if (!bpf_map_lookup_elem(overflow->requests, &key))
		return 0;
	overflow->found = key;
	return 1;
}

/* Among those that the ring tells together; false when it is none of these. */
static __always_inline bool overflow_batch(struct overflow *overflow)
{
	if (!bpf_core_field_exists(struct io_ring_ctx, submit_state.compl_reqs) ||
	    !bpf_core_field_exists(struct io_kiocb, comp_list))
		return false;
	overflow->node = ADDRESS(struct io_ring_ctx, overflow->number.ring, submit_state.compl_reqs.first);
	bpf_loop(BATCH_MAX, overflow_next, overflow, 0);
	return overflow->alike;
}

static long overflow_any(void *map, const __u64 *key, void *value, struct overflow *overflow)
{
	if (!overflow_is((struct io_kiocb *)*key, overflow))
		return 0;
	overflow->found = *key;
	return 1;
}

/*
 * Looks for the request rather here, where a program has fallen behind with its completions, than to
 * note something of every request. Workers tell theirs one by one: these are looked for among all.
 */
static __always_inline int overflowed(void *requests, void *ring, __u64 user_data, __s32 result,
				      __u32 flags)
{
	struct overflow overflow = { requests, { (__u64)ring, user_data }, result, flags, 0, 0, 0 };
	bool worker = READ(struct task_struct, current_task(), flags) & PF_IO_WORKER;

	if (flags & (CQE_NOTIFICATION | CQE_MORE))
		return told(ring, NULL, user_data, result, flags);
	if (worker || !overflow_batch(&overflow))
		bpf_for_each_map_elem(requests, overflow_any, &overflow, 0);
	return told(ring, (struct io_kiocb *)overflow.found, user_data, result, flags);
}

/* Kernels that tell the request tell of each completion once: here, or where those with room are. */
#define URING_OVERFLOWS(name, requests)                                                         \
	SEC("tp_btf/io_uring_cqe_overflow")                                                     \
	int BPF_PROG(name##_overflow__5, void *ring, __u64 user_data, int result, __u32 flags)   \
	{                                                                                       \
		return overflowed(&requests, ring, user_data, result, flags);                   \
	}
