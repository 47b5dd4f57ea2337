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

/* The request of a completion, NULL: none. After its last one it is forgotten. */
static __always_inline struct io_kiocb *repeat_find(void *ring, __u64 user_data, __u32 flags)
{
	struct repeat_key shared = { (__u64)ring, user_data };
	__u64 *found = bpf_map_lookup_elem(&REPEATS, &shared), address = found ? *found : 0;

	if (found && !(flags & CQE_MORE))
		bpf_map_delete_elem(&REPEATS, &shared);
	return (struct io_kiocb *)address;
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
		request = repeat_find(ring, user_data, flags);
	return request ? completed(request, uring_key(request), result, last) : 0;
}

static __always_inline int told_510(void *ring, __u64 user_data, __s32 result, __u32 flags)
{
	return completed(NULL, uring_key_510(ring, user_data), result, true);
}
