/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of io_uring in flight, for all streams in one table. An entry is made in a scratch buffer and put into the
 * table when it is complete, by the kernel's address of the request; on a kernel whose completions do not have that, by
 * the ring, user_data, and an index among requests for which both are the same.
 */
#pragma once

#include "actor.bpf.h"
#include "conn_row.bpf.h"
#include "sockets.bpf.h"
#include "uring.bpf.h"

#define ALIKE_MAX 8    /* maximum of requests in flight with the same user_data in a ring */
#define RINGS_MAX 4096 /* maximum of rings that have a number; LRU */

/* What the rows of one stream need, valid while the request has sessions of that stream. */
struct iouring_part {
	__u64 name2;
	__u64 offset;
	__u64 length;
	__u64 user_data;
	__u64 ring;
	__u8 has_fd;
	__u8 async;
	__u8 opens; /* its result is a descriptor */
	__u8 unread; /* its length could not be read */
	__u8 pad[4];
};

struct vfs_part {
	__u64 size;
	__u64 offset;
	__u32 flags;
	__u8 operation;
	__u8 flag_kind;
	__u8 counts_bytes;
	__u8 unread; /* its size could not be read */
};

struct net_part {
	__u64 size;
	__u64 message; /* user address of the struct msghdr, 0: none */
	__u32 flags;
	__u32 room; /* bytes of the user's buffer for the sender's address */
	__u8 operation;
	__u8 has_flags;
	__u8 repeats; /* has several completions */
	__u8 pad[5];
};

struct conn_part {
	__u64 address; /* user address of the socket address, of BIND and CONNECT */
	__u32 length;  /* bytes of the socket address */
	__s32 type, protocol; /* of SOCKET; its domain is `fd` */
	__s32 argument; /* `backlog` of LISTEN, `how` of SHUTDOWN */
	__u8 operation;
	__u8 makes; /* its result is a descriptor */
	__u8 hides; /* its result is no descriptor: the new file is put into the ring's own table */
	__u8 pad[5];
};

struct uring_request {
	struct actor actor;
	__u64 start_ns;
	__u64 iouring_sessions; /* session masks: those of each stream that accept it */
	__u64 vfs_sessions;
	__u64 net_sessions;
	__u64 conn_sessions;
	struct iotr_file file; /* of IOURING and VFS */
	__u32 tag; /* tells a request apart from another one under the same key */
	__s32 fd;  /* FD_UNKNOWN: not known */
	__u8 opcode;
	__u8 sqe_flags;
	__u8 repeats; /* has several completions, and is in uring_repeats */
	__u8 named; /* has an entry in uring_unix_names */
	__u32 pad;
	struct iouring_part iouring;
	struct vfs_part vfs;
	struct noted noted; /* of NET and CONN. sock 0: a file in the ring's own table, known at the end */
	union { /* no request is of both */
		struct net_part net;
		struct conn_part conn;
	};
};

HASH_OF(uring_requests, HASH, __u64, struct uring_request, IOTR_URING);
/*
 * Requests without a completion on success, of which IOURING tells nothing then: an entry stays until it is evicted, or
 * its key is used again. The other streams count such a request as lost, so theirs is in uring_requests.
 */
HASH_OF(uring_silent, LRU_HASH, __u64, struct uring_request, IOTR_URING_SILENT);
/* Names of Unix sockets that are closed, by the key of the request; few requests have such names, which are long. */
HASH_OF(uring_unix_names, HASH, __u64, struct unix_names, IOTR_URING_SILENT);
ARRAY_OF(uring_blank_names, struct unix_names, 1, 0);

/* A request while it is filled in. Not on the stack, where the verifier would tell each way of filling it in apart. */
struct uring_work {
	struct uring_request request;
	struct uring_entry entry; /* as user space wrote it */
	struct uring_entry ready; /* as the kernel has prepared it */
};

/* One for each program that begins requests, as one may preempt the other. */
enum uring_scratch {
	SCRATCH_SUBMIT,
	SCRATCH_FAILED,
	SCRATCH_COMPLETE,
	SCRATCH_COUNT,
};

ARRAY_PER_CPU(uring_scratch, struct uring_work, SCRATCH_COUNT);

bool silent_seen; /* something has been put into uring_silent, so that it has to be looked into */
bool alike_seen;  /* requests have had the same ring and user_data; only of the oldest kernels */

static __always_inline struct uring_work *work_scratch(__u32 which)
{
	return bpf_map_lookup_elem(&uring_scratch, &which);
}

static __always_inline __u64 sessions_of(const struct uring_request *request)
{
	return request->iouring_sessions | request->vfs_sessions | request->net_sessions | request->conn_sessions;
}

static __always_inline bool is_silent(const struct uring_request *request)
{
	return request->sqe_flags & IOSQE_CQE_SKIP;
}

/* ---- the table ---- */

static __always_inline struct uring_request *request_find(__u64 key)
{
	struct uring_request *request = bpf_map_lookup_elem(&uring_requests, &key);

	return request || !silent_seen ? request : bpf_map_lookup_elem(&uring_silent, &key);
}

/* The same at a completion, with which a silent request turns out not to be: it gets its sessions back. */
static __always_inline struct uring_request *request_ending(__u64 key)
{
	struct uring_request *request = bpf_map_lookup_elem(&uring_requests, &key), *silent;

	if (!silent_seen)
		return request;
	silent = bpf_map_lookup_elem(&uring_silent, &key);
	if (!request || !silent)
		return request ?: silent;
	request->iouring_sessions = silent->iouring_sessions;
	return request;
}

static __always_inline void request_forget(__u64 key, const struct uring_request *request)
{
	if (request->named)
		bpf_map_delete_elem(&uring_unix_names, &key);
	if (is_silent(request))
		bpf_map_delete_elem(&uring_silent, &key);
	bpf_map_delete_elem(&uring_requests, &key);
}

/* Counts a request that will have no row as lost, for every session that accepted it. */
static __always_inline void request_lost(const struct uring_request *request)
{
	if (request->iouring_sessions)
		row_unmatched(IOTR_IOURING, request->iouring_sessions);
	if (request->vfs_sessions)
		row_unmatched(IOTR_VFS, request->vfs_sessions);
	if (request->net_sessions)
		row_unmatched(IOTR_NET, request->net_sessions);
	if (request->conn_sessions)
		row_unmatched(IOTR_CONN, request->conn_sessions);
}

/*
 * Drops the request that has the key of one that begins: its end was not seen, or it is silent and has none, and it
 * must not end with the new one.
 */
static __always_inline void request_unended(struct iotr_control *page, __u64 key)
{
	struct uring_request *request = bpf_map_lookup_elem(&uring_requests, &key);

	if (silent_seen)
		bpf_map_delete_elem(&uring_silent, &key);
	if (!request)
		return;
	row_unended(page, IOTR_IOURING, request->iouring_sessions, request->start_ns);
	row_unended(page, IOTR_VFS, request->vfs_sessions, request->start_ns);
	row_unended(page, IOTR_NET, request->net_sessions, request->start_ns);
	row_unended(page, IOTR_CONN, request->conn_sessions, request->start_ns);
	request_forget(key, request);
}

static __always_inline bool request_put(__u64 key, const struct uring_request *request)
{
	return !bpf_map_update_elem(&uring_requests, &key, request, BPF_NOEXIST);
}

/* Puts what IOURING has of a silent request where it is not missed. */
static __always_inline void silent_put(__u64 key, struct uring_request *request)
{
	silent_seen = true;
	if (bpf_map_update_elem(&uring_silent, &key, request, BPF_ANY))
		row_unmatched(IOTR_IOURING, request->iouring_sessions);
	request->iouring_sessions = 0;
}

/*
 * Puts a request into the table unless no session is left that accepts it; false: it is not there. One that has no room
 * is counted as lost; so is one without a key, 0. What had the key before is dropped: mostly it is only looked for if
 * the key turns out to be in use.
 */
static __always_inline bool request_keep(struct iotr_control *page, __u64 key, struct uring_request *request)
{
	bool silent = is_silent(request);

	if (silent_seen || silent || !sessions_of(request))
		request_unended(page, key);
	if (silent && request->iouring_sessions)
		silent_put(key, request);
	if (!sessions_of(request))
		return false;
	if (key && request_put(key, request))
		return true;
	if (!silent)
		request_unended(page, key);
	if (key && request_put(key, request))
		return true;
	request_lost(request);
	return false;
}

/* ---- numbers of rings: rows never show a kernel address ---- */

#define CPU_BITS 12

/* The ring that a CPU met last. */
struct ring_last {
	__u64 number;
	__u64 check; /* see ring_check() */
};

HASH_OF(ring_numbers, LRU_HASH, __u64, __u64, RINGS_MAX);
ARRAY_PER_CPU(ring_counter, __u64, 1);
ARRAY_PER_CPU(ring_lasts, struct ring_last, 1);

__u64 rings_made; /* count of rings that were made: after each of them a ring may be where another one was */

/* A check value of a ring and its number: it fails if another program has written in between. */
static __always_inline __u64 ring_check(__u64 ring, __u64 number, __u64 made)
{
	return iotr_mix(number_of(ring), made) ^ number;
}

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

static __always_inline __u64 ring_find(__u64 ring)
{
	__u64 *number = bpf_map_lookup_elem(&ring_numbers, &ring);

	return number ? *number : ring_count(ring);
}

/* The number of a ring, without a look into the table if it is the one that this CPU met last. */
static __always_inline __u64 ring_number(void *ring)
{
	__u64 key = (__u64)ring, made = rings_made, number;
	struct ring_last *last;
	__u32 zero = 0;

	last = bpf_map_lookup_elem(&ring_lasts, &zero);
	if (last && last->check == ring_check(key, last->number, made))
		return last->number;
	number = ring_find(key);
	if (last) {
		last->number = number;
		last->check = ring_check(key, number, made);
	}
	return number;
}

/* ---- keys ---- */

/* The key of a request: its address. */
static __always_inline __u64 request_key(struct io_kiocb *kernel)
{
	return (__u64)kernel;
}

/* On the oldest kernels, whose completions do not have the address: by ring, user_data and an index among those alike. */
static __always_inline __u64 request_key_at(void *ring, __u64 user_data, __u32 index)
{
	return iotr_mix(iotr_mix(iotr_mix(index + 3, low_half((__u64)ring)), user_data), index) ?: 1;
}

/* The first free key among those of the ring and user_data; 0: there is none. */
static __always_inline __u64 request_key_free(void *ring, __u64 user_data)
{
	for (__u32 index = 0; index < ALIKE_MAX; index++) {
		__u64 key = request_key_at(ring, user_data, index);

		if (bpf_map_lookup_elem(&uring_requests, &key))
			continue;
		if (index)
			alike_seen = true;
		return key;
	}
	return 0;
}

static __always_inline __u64 request_key_oldest(void *ring, __u64 user_data)
{
	__u64 oldest = 0, start = IOTR_UNKNOWN;

	for (__u32 index = 0; index < ALIKE_MAX && (!index || alike_seen); index++) {
		__u64 key = request_key_at(ring, user_data, index);
		const struct uring_request *request = bpf_map_lookup_elem(&uring_requests, &key);

		if (!request || request->start_ns >= start)
			continue;
		start = request->start_ns;
		oldest = key;
	}
	return oldest;
}

static __always_inline __u64 request_key_tagged(void *ring, __u64 user_data, __u32 tag)
{
	for (__u32 index = 0; index < ALIKE_MAX && (!index || alike_seen); index++) {
		__u64 key = request_key_at(ring, user_data, index);
		const struct uring_request *request = bpf_map_lookup_elem(&uring_requests, &key);

		if (request && request->tag == tag)
			return key;
	}
	return 0;
}
