/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completions of io_uring, and which requests they belong to. Tracepoints do not name the request of two
 * kinds: all completions of a multishot request but the last, and those that find the completion queue
 * full.
 */
#pragma once

#include <asm-generic/errno.h>

#include "uring_requests.bpf.h"

/* What a completion without its request has: the ring, and the number that user space gave the request. */
struct uring_number {
	__u64 ring; /* address of the struct io_ring_ctx */
	__u64 user_data;
};

/* Addresses of requests with several completions. */
HASH_OF(uring_repeats, HASH, struct uring_number, __u64, IOTR_URING);

/*
 * Handles a completion; `last`: the request ends with it. `kernel` is 0 on the oldest kernels, where completions do not
 * name the request, and none of the searches below is made. The includer defines it.
 */
static __always_inline int completed(__u64 kernel, __u64 key, __s32 result, bool last);

/* Whether the request at an address is the one meant, not a later one at the same address. */
static __always_inline bool uring_is(struct io_kiocb *request, const struct uring_number *number)
{
	return HAS_REQUEST_CQE &&
	       READ(struct io_kiocb, request, cqe.user_data) == number->user_data &&
	       low_half((__u64)READ(struct io_kiocb, request, ctx)) == low_half(number->ring);
}

/* ---- requests with several completions ---- */

/* Kernels whose completions do not name the request have no requests with several completions. */
static __always_inline struct uring_number number_read(struct io_kiocb *request)
{
	struct uring_number number = { (__u64)READ(struct io_kiocb, request, ctx), 0 };

	if (HAS_REQUEST_CQE)
		number.user_data = READ(struct io_kiocb, request, cqe.user_data);
	return number;
}

/* Saves a request with several completions in uring_repeats; false: there is no room. */
static __always_inline bool repeat_note(struct io_kiocb *request)
{
	struct uring_number number = number_read(request);
	__u64 key = request_key(request);

	return !bpf_map_update_elem(&uring_repeats, &number, &key, BPF_ANY);
}

static __always_inline struct io_kiocb *repeat_find(const struct uring_number *number)
{
	__u64 *key = bpf_map_lookup_elem(&uring_repeats, number);

	return key && uring_is((struct io_kiocb *)*key, number) ? (struct io_kiocb *)*key : NULL;
}

static __always_inline void repeat_forget(struct io_kiocb *request)
{
	struct uring_number number = number_read(request);
	__u64 *noted = bpf_map_lookup_elem(&uring_repeats, &number);

	if (noted && *noted == request_key(request)) /* not that of another request with the same number */
		bpf_map_delete_elem(&uring_repeats, &number);
}

/* Handles a completion from the tracepoint, where `request` is NULL for one of several that is not the last. */
static __always_inline int told(void *ring, struct io_kiocb *request, __u64 user_data, __s32 result,
				__u32 flags)
{
	struct uring_number number = { (__u64)ring, user_data };
	bool last = request || !(flags & CQE_MORE);

	if (flags & CQE_NOTIFICATION)
		return 0;
	request = request ?: repeat_find(&number);
	return request ? completed(number_of((__u64)request), request_key(request), result, last) : 0;
}

/* ---- requests that are refused before submission ---- */

/* Whether a result is one of a request that was refused before submission. */
static __always_inline bool refusal(__s32 result)
{
	switch (-result) {
	case EBADF:
	case EINVAL:
	case EFAULT:
	case EACCES:
	case EOPNOTSUPP:
	case ENOMEM:
	case ENOENT:
	case ENAMETOOLONG:
	case ENXIO:
	case EOVERFLOW:
	case E2BIG:
		return true;
	default:
		return false;
	}
}

/* Whether a completion of no request in flight belongs to the entry taken last, which was refused; reads the entry. */
static __always_inline bool uring_entry_refused(struct io_ring_ctx *ring, __u64 user_data, __s32 result,
						struct uring_entry *entry)
{
	return refusal(result) && uring_entry(ring, FOLLOW(ring, cached_sq_head), 1, entry) && entry->user_data == user_data;
}

/* ---- completions that find the completion queue full ---- */

#define BATCH_MAX    256  /* maximum of requests of a batch that are looked at */
#define PF_IO_WORKER 0x10 /* flag of a task */

struct overflow {
	struct uring_number number;
	__s32 result;
	__u32 flags;
	__u64 node;  /* list node of the next request of the batch */
	__u64 found; /* key of the request, 0: none */
	bool alike;  /* a request of the batch has the same number and result */
};

/* Whether a request has the overflow's number and result, which the kernel has set in it by then. */
static __always_inline bool overflow_is(struct io_kiocb *request, const struct overflow *overflow)
{
	return uring_is(request, &overflow->number) &&
	       READ(struct io_kiocb, request, cqe.res) == overflow->result &&
	       READ(struct io_kiocb, request, cqe.flags) == overflow->flags;
}

/* Of several that match it is the first in uring_requests: those whose completions were seen are not in there any more. */
static long overflow_next(__u32 index, struct overflow *overflow)
{
	__u64 key = overflow->node - bpf_core_field_offset(struct io_kiocb, comp_list);

	if (!overflow->node)
		return 1;
	overflow->node = ADDRESS(struct io_wq_work_node, overflow->node, next);
	if (!overflow_is((struct io_kiocb *)key, overflow))
		return 0;
	overflow->alike = true;
	if (!request_at(key))
		return 0;
	overflow->found = key;
	return 1;
}

/* Looks in the batch of requests whose completions the ring posts together; false: none of them matches. */
static __always_inline bool overflow_batch(struct overflow *overflow)
{
	if (!bpf_core_field_exists(struct io_ring_ctx, submit_state.compl_reqs) ||
	    !bpf_core_field_exists(struct io_kiocb, comp_list))
		return false;
	overflow->node = ADDRESS(struct io_ring_ctx, overflow->number.ring, submit_state.compl_reqs.first);
	bpf_loop(BATCH_MAX, overflow_next, overflow, 0);
	return overflow->alike;
}

static long overflow_any(void *map, const __u32 *index, const struct uring_request *value, struct overflow *overflow)
{
	if (!value->used || !overflow_is((struct io_kiocb *)value->flight.key, overflow))
		return 0;
	overflow->found = value->flight.key;
	return 1;
}

/*
 * Handles a completion that finds the queue full. The request is searched for here, which is rare, rather than
 * saving data of every request. Worker threads post completions one by one: theirs are searched in the whole map.
 */
static __always_inline int overflowed(void *ring, __u64 user_data, __s32 result, __u32 flags)
{
	struct overflow overflow = { { (__u64)ring, user_data }, result, flags, 0, 0, 0 };
	bool worker = FOLLOW(current_task(), flags) & PF_IO_WORKER;

	if (!(flags & (CQE_NOTIFICATION | CQE_MORE)) && (worker || !overflow_batch(&overflow)))
		bpf_for_each_map_elem(&uring_requests, overflow_any, &overflow, 0);
	return told(ring, (struct io_kiocb *)overflow.found, user_data, result, flags);
}
