/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of io_uring under way, by the kernel's address of the request; on a kernel whose
 * completions do not tell that, by the ring, the program's number and a place among those alike.
 */
#pragma once

#define REPEATS ring_repeats

#include "actor.bpf.h"
#include "files.bpf.h"
#include "uring_ends.bpf.h"

#define ALIKE_MAX 8    /* requests with the same number at the same time */
#define RINGS_MAX 4096 /* rings that keep their number */

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
	__u8 silent; /* its success is never told */
	__u8 repeats; /* has several completions */
	__u8 pad;
};

HASH_OF(ring_requests, HASH, __u64, struct ring_request, IOTR_URING);
/* Those whose success is never told: they stay until their place is taken. */
HASH_OF(ring_silent, LRU_HASH, __u64, struct ring_request, IOTR_URING);
HASH_OF(ring_numbers, LRU_HASH, __u64, __u64, RINGS_MAX);
ARRAY_OF(ring_blank, struct ring_request, 1, 0);

ARRAY_PER_CPU(ring_counter, __u64, 1);

/* ---- numbers of rings: never an address ---- */

#define CPU_BITS 12

/* Counts a ring that is new, or has not been seen yet; its number. */
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

/* One that is there as another one begins under its key was never seen to end, or is never told. */
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

/* A new request, filled in where it stays. NULL, and counted, when there is no room. */
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

/* Lets the request be when no session wants it. */
static __always_inline void request_keep(__u64 key, struct ring_request *request, __u64 sessions)
{
	request->sessions = command_is_ours(&request->actor.command) ? 0 : sessions;
	if (!request->sessions)
		request_forget(key, request);
}

/* ---- the oldest kernels: keys of requests with the same number ---- */

static __always_inline __u64 request_key(void *ring, __u64 user_data, __u32 place)
{
	return iotr_mix(iotr_mix(iotr_mix(place + 3, low_half((__u64)ring)), user_data), place) ?: 1;
}

/* The first place that is free among those alike; 0 when there is none. */
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
