/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of io_uring in flight, by the kernel's address of the request; on a kernel whose completions
 * do not have that, by the ring, user_data, and an index among requests for which both are the same.
 */
#pragma once

#define REPEATS ring_repeats

#include "actor.bpf.h"
#include "files.bpf.h"
#include "uring_ends.bpf.h"

#define ALIKE_MAX 8    /* maximum of requests in flight with the same user_data in a ring */
#define RINGS_MAX 4096 /* maximum of rings that have a number; LRU */

struct ring_request {
	struct actor actor;
	__u64 sessions;
	__u64 start_ns;
	struct iotr_file file;
	__u64 name2;
	__u64 offset;
	__u64 length;
	__u64 user_data;
	__u64 ring;
	__u32 tag;
	__s32 fd;
	__u8 opcode;
	__u8 sqe_flags;
	__u8 has_fd;
	__u8 async;
	__u8 opens; /* its result is a descriptor */
	__u8 silent; /* IOSQE_CQE_SKIP: it has a completion only if it fails */
	__u8 repeats; /* has several completions */
	__u8 unread; /* its length could not be read */
};

HASH_OF(ring_requests, HASH, __u64, struct ring_request, IOTR_URING);
/* Requests without a completion on success: an entry stays until it is evicted, or its key is used again. */
HASH_OF(ring_silent, LRU_HASH, __u64, struct ring_request, IOTR_URING);
HASH_OF(ring_numbers, LRU_HASH, __u64, __u64, RINGS_MAX);
ARRAY_OF(ring_blank, struct ring_request, 1, 0);

ARRAY_PER_CPU(ring_counter, __u64, 1);

/* ---- numbers of rings: rows never show a kernel address ---- */

#define CPU_BITS 12

/* Gives a ring a number, unique by a counter of each CPU, and returns it; 0: none. */
static __always_inline __u64 ring_count(__u64 ring)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&ring_counter, &zero), number;

	if (!count)
		return 0;
	number = ++*count << CPU_BITS | bpf_get_smp_processor_id();
	bpf_map_update_elem(&ring_numbers, &ring, &number, BPF_ANY);
	return number;
}

static __always_inline __u64 ring_number(void *ring)
{
	__u64 key = (__u64)ring, *number = bpf_map_lookup_elem(&ring_numbers, &key);

	return number ? *number : ring_count(key);
}

/* ---- requests ---- */

static __always_inline struct ring_request *request_find(__u64 key)
{
	struct ring_request *request = bpf_map_lookup_elem(&ring_requests, &key);

	return request ?: bpf_map_lookup_elem(&ring_silent, &key);
}

static __always_inline void request_forget(__u64 key, const struct ring_request *request)
{
	if (request->silent)
		bpf_map_delete_elem(&ring_silent, &key);
	else
		bpf_map_delete_elem(&ring_requests, &key);
}

/* Drops the request that has the key of one that begins; its end was not seen, or it is silent and has none. */
static __always_inline void request_unended(__u64 key)
{
	struct ring_request *request = request_find(key);
	struct iotr_control *page = control_page();

	if (!page || !request)
		return;
	if (!request->silent)
		row_unended(page, IOTR_IOURING, request->sessions, request->start_ns);
	request_forget(key, request);
}

/* A new entry for a request, to be filled in there. NULL: there is no room, which is counted as a loss. */
static __always_inline struct ring_request *request_new(__u64 key, bool silent, __u64 sessions)
{
	struct ring_request *request, *blank;
	__u32 zero = 0;

	blank = bpf_map_lookup_elem(&ring_blank, &zero);
	if (!blank || !key ||
	    (silent ? bpf_map_update_elem(&ring_silent, &key, blank, BPF_ANY) :
		      bpf_map_update_elem(&ring_requests, &key, blank, BPF_ANY))) {
		row_unmatched(IOTR_IOURING, sessions);
		return NULL;
	}
	request = request_find(key);
	if (!request)
		return NULL;
	request->silent = silent;
	request->file.inode = IOTR_UNKNOWN;
	request->offset = request->length = IOTR_UNKNOWN;
	actor_current(&request->actor);
	return request;
}

/* Sets the sessions of a new request, and drops it if there are none. */
static __always_inline void request_keep(__u64 key, struct ring_request *request, __u64 sessions)
{
	request->sessions = sessions;
	if (!request->sessions)
		request_forget(key, request);
}

/* ---- the oldest kernels: keys of requests with the same user_data ---- */

static __always_inline __u64 request_key(void *ring, __u64 user_data, __u32 place)
{
	return iotr_mix(iotr_mix(iotr_mix(place + 3, low_half((__u64)ring)), user_data), place) ?: 1;
}

/* The first free key among those of the ring and user_data; 0: there is none. */
static __always_inline __u64 request_key_free(void *ring, __u64 user_data)
{
	for (__u32 place = 0; place < ALIKE_MAX; place++) {
		__u64 key = request_key(ring, user_data, place);

		if (!request_find(key))
			return key;
	}
	return 0;
}

static __always_inline __u64 request_key_oldest(void *ring, __u64 user_data)
{
	__u64 oldest = 0, start = IOTR_UNKNOWN;

	for (__u32 place = 0; place < ALIKE_MAX; place++) {
		__u64 key = request_key(ring, user_data, place);
		const struct ring_request *request = request_find(key);

		if (!request || request->start_ns >= start)
			continue;
		start = request->start_ns;
		oldest = key;
	}
	return oldest;
}

static __always_inline __u64 request_key_tagged(void *ring, __u64 user_data, __u32 tag)
{
	for (__u32 place = 0; place < ALIKE_MAX; place++) {
		__u64 key = request_key(ring, user_data, place);
		const struct ring_request *request = request_find(key);

		if (request && request->tag == tag)
			return key;
	}
	return 0;
}
