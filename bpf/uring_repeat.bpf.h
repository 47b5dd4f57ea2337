/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completions, which a program that includes this has completed() for. Those of a multishot request
 * but the last do not tell the request: its address is noted by the ring and the program's own
 * number. Define REPEATS, the name of the map, first.
 */
#pragma once

#include "uring.bpf.h"

#define REPEATS_MAX 256

struct repeat_key {
	__u64 ring;
	__u64 user_data;
};

HASH_OF(REPEATS, LRU_HASH, struct repeat_key, __u64, REPEATS_MAX);

static __always_inline void repeat_note(void *ring, __u64 user_data, struct io_kiocb *kernel)
{
	struct repeat_key shared = { (__u64)ring, user_data };
	__u64 address = (__u64)kernel;

	bpf_map_update_elem(&REPEATS, &shared, &address, BPF_ANY);
}

/* Whether the request at an address is the one that was noted, or has its place by now. */
static __always_inline bool repeat_is(struct io_kiocb *kernel, void *ring, __u64 user_data)
{
	return bpf_core_field_exists(struct io_kiocb, cqe) &&
	       READ(struct io_kiocb, kernel, cqe.user_data) == user_data &&
	       low_half((__u64)READ(struct io_kiocb, kernel, ctx)) == low_half((__u64)ring);
}

/*
 * The request of a completion, NULL: none. What was noted of one that has ended, whose last
 * completion tells it itself, stays until its place is taken.
 */
static __always_inline struct io_kiocb *repeat_find(void *ring, __u64 user_data)
{
	struct repeat_key shared = { (__u64)ring, user_data };
	__u64 *found = bpf_map_lookup_elem(&REPEATS, &shared);
	struct io_kiocb *kernel = found ? (struct io_kiocb *)*found : NULL;

	return kernel && repeat_is(kernel, ring, user_data) ? kernel : NULL;
}

/* The request is NULL on kernels that do not tell it; it ends with the last completion. */
static __always_inline int completed(struct io_kiocb *request, __u64 key, __s32 result, bool last);

/* Without a request it is one of several completions. */
static __always_inline int told(void *ring, struct io_kiocb *request, __u64 user_data, __s32 result,
				__u32 flags)
{
	bool last = request || !(flags & CQE_MORE);

	if (flags & CQE_NOTIFICATION)
		return 0;
	if (!request)
		request = repeat_find(ring, user_data);
	return request ? completed(request, uring_key(request), result, last) : 0;
}

static __always_inline int told_510(void *ring, __u64 user_data, __s32 result, __u32 flags)
{
	return completed(NULL, uring_key_510(ring, user_data), result, true);
}
