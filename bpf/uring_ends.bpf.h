/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completions of io_uring, and which requests they belong to. Tracepoints do not name the request of two
 * kinds: all completions of a multishot request but the last, and those that find the completion queue
 * full. An object that includes this has completed() and a map of requests in flight by uring_key(). It
 * defines REPEATS, the name of the map of requests with several completions, before the include.
 */
#pragma once

#include <asm-generic/errno.h>

#include "uring.bpf.h"

/* What a completion without its request has: the ring, and the number that user space gave the request. */
struct uring_number {
	__u64 ring; /* address of the struct io_ring_ctx */
	__u64 user_data;
};

HASH_OF(REPEATS, HASH, struct uring_number, __u64, IOTR_URING);

/*
 * Handles a completion; `last`: the request ends with it. `request` is NULL on the oldest kernels, where
 * completions do not name it: `key` is uring_key_510() then, and none of the searches below is made.
 */
static __always_inline int completed(struct io_kiocb *request, __u64 key, __s32 result, bool last);

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

/* Saves a request with several completions in REPEATS; false: there is no room. */
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

	if (noted && *noted == uring_key(request)) /* not that of another request with the same number */
		bpf_map_delete_elem(&REPEATS, &number);
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
	return request ? completed(request, uring_key(request), result, last) : 0;
}

/* The same on the oldest kernels, where the request is found by uring_key_510(). */
static __always_inline int told_by_number(void *ring, __u64 user_data, __s32 result, __u32 flags)
{
	return completed(NULL, uring_key_510(ring, user_data), result, true);
}

/* ---- requests that are refused before submission ---- */

/* The number of the entry that the kernel took last from a ring: its count of entries modulo 2^16. */
static __always_inline __u16 uring_entry_index(void *ring)
{
	return READ(struct io_ring_ctx, ring, cached_sq_head);
}

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
static __always_inline bool uring_entry_refused(void *ring, __u64 user_data, __s32 result,
						struct uring_entry *entry)
{
	return refusal(result) && uring_entry(ring, 1, entry) && entry->user_data == user_data;
}

/* ---- completions that find the completion queue full ---- */

#define BATCH_MAX    256  /* maximum of requests of a batch that are looked at */
#define PF_IO_WORKER 0x10 /* flag of a task */

struct overflow {
	void *requests; /* the stream's map of requests in flight */
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

/* Of several that match it is the first in `requests`: those whose completions were seen are not in there any more. */
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

static long overflow_any(void *map, const __u64 *key, void *value, struct overflow *overflow)
{
	if (!overflow_is((struct io_kiocb *)*key, overflow))
		return 0;
	overflow->found = *key;
	return 1;
}

/*
 * Handles a completion that finds the queue full. The request is searched for here, which is rare, rather than
 * saving data of every request. Worker threads post completions one by one: theirs are searched in the whole map.
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

/* On kernels that name the request each completion hits one tracepoint only: this one, or io_uring_complete. */
#define URING_OVERFLOWS(name, requests)                                                         \
	SEC("tp_btf/io_uring_cqe_overflow")                                                     \
	int BPF_PROG(name##_overflow__5, void *ring, __u64 user_data, int result, __u32 flags)   \
	{                                                                                       \
		return overflowed(&requests, ring, user_data, result, flags);                   \
	}

/*
 * A program that begins a request which the kernel refuses while it takes the entry; it then completes as others do.
 * Where completions do not name their request, name##_told_510() does that when the completion comes. refused() gets
 * the key and the entry. `index` of a request in flight is its uring_entry_index(); unended() is as in URING_BEGINS.
 */
#define URING_REFUSED(name, requests, type, refused, unended)                                   \
	SEC("tp_btf/io_uring_req_failed")                                                       \
	int BPF_PROG(name##_req_failed__3, const void *sqe, struct io_kiocb *request)            \
	{                                                                                       \
		__u64 key = uring_key(request);                                                 \
		const type *known = bpf_map_lookup_elem(&requests, &key);                       \
		struct uring_entry entry;                                                       \
                                                                                                \
		if (known && known->index == uring_entry_index(READ(struct io_kiocb, request, ctx))) \
			return 0; /* one of a chain, refused after submission */                \
		unended(key);                                                                   \
		if (!bpf_probe_read_kernel(&entry, sizeof(entry), sqe))                         \
			refused(key, &entry);                                                   \
		return 0;                                                                       \
	}                                                                                       \
                                                                                                \
	static __always_inline int name##_told_510(void *ring, __u64 user_data, __s32 result, __u32 flags) \
	{                                                                                       \
		__u64 key = uring_key_510(ring, user_data);                                     \
		struct uring_entry entry;                                                       \
                                                                                                \
		if (!bpf_map_lookup_elem(&requests, &key) &&                                    \
		    uring_entry_refused(ring, user_data, result, &entry))                       \
			refused(key, &entry);                                                   \
		return told_by_number(ring, user_data, result, flags);                          \
	}
