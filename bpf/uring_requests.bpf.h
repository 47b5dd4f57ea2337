/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of io_uring in flight, for all streams in one table, by the kernel's address of the request. An
 * entry is filled in where it is. On a kernel whose completions do not have that address, it is made in a scratch buffer, and
 * put into the table when it is complete, by the ring, user_data, and an index among requests for which both are the same.
 */
#pragma once

#include "conn_row.bpf.h"
#include "uring.bpf.h"
#include "uring_request.bpf.h"

#define RINGS_MAX 4096 /* maximum of rings that have a number; LRU */

/*
 * Requests without a completion on success, of which IOURING tells nothing then: an entry stays until it is evicted, or
 * its key is used again. The other streams count such a request as lost, so theirs is in uring_requests.
 */
HASH_OF(uring_silent, LRU_HASH, __u64, struct uring_request, IOTR_URING_SILENT);
/* Names of Unix sockets that are closed, by the key of the request; few requests have such names, which are long. */
HASH_OF(uring_unix_names, HASH, __u64, struct unix_names, IOTR_URING_SILENT);
ARRAY_OF(uring_blank_names, struct unix_names, 1, 0);

/* Session masks by stream. */
struct stream_sessions {
	__u64 iouring, vfs, net, conn;
};

/* What a request is filled in from. Not on the stack, where the verifier would tell each way of filling it in apart. */
struct uring_work {
	struct uring_request request; /* where it is made if that is not its entry */
	struct stream_sessions sessions;
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

bool silent_seen SEC(".data"); /* something has been put into uring_silent, so that it has to be looked into */
bool alike_seen SEC(".data");  /* requests have had the same ring and user_data; only of the oldest kernels */

static __always_inline struct uring_work *work_scratch(__u32 which)
{
	return bpf_map_lookup_elem(&uring_scratch, &which);
}

static __always_inline __u64 sessions_of(const struct uring_request *request)
{
	return request->iouring_sessions | request->vfs_sessions | request->net_sessions | request->conn_sessions;
}

static __always_inline void sessions_set(struct uring_request *request, const struct stream_sessions *sessions)
{
	request->iouring_sessions = sessions->iouring;
	request->vfs_sessions = sessions->vfs;
	request->net_sessions = sessions->net;
	request->conn_sessions = sessions->conn;
}

static __always_inline bool is_silent(const struct uring_request *request)
{
	return request->sqe_flags & IOSQE_CQE_SKIP;
}

/* ---- the table ---- */

static __always_inline struct uring_request *request_find(__u64 key)
{
	struct uring_request *request = request_at(key);

	return request || !silent_seen ? request : bpf_map_lookup_elem(&uring_silent, &key);
}

/* The same at a completion, with which a silent request turns out not to be: it gets its sessions back. */
static __always_inline struct uring_request *request_ending(__u64 key)
{
	struct uring_request *request = request_at(key), *silent;

	if (!silent_seen)
		return request;
	silent = bpf_map_lookup_elem(&uring_silent, &key);
	if (!request || !silent)
		return request ?: silent;
	request->iouring_sessions = silent->iouring_sessions;
	return request;
}

/* Deletes what other tables have of a request. A global function. */
__noinline int request_delete(__u64 key, __u32 named, __u32 silent)
{
	if (named)
		bpf_map_delete_elem(&uring_unix_names, &key);
	if (silent)
		bpf_map_delete_elem(&uring_silent, &key);
	return 0;
}

/* Gives up the entry of a request. */
static __always_inline void request_release(__u64 key, struct uring_request *request)
{
	request->iouring_sessions = request->vfs_sessions = request->net_sessions = request->conn_sessions = 0;
	request->used = 0;
	flight_release(&uring_requests, &request->flight, key);
}

/* `request`: what request_ending() has found, which may be in uring_silent alone. */
static __always_inline void request_forget(__u64 key, struct uring_request *request)
{
	if (is_silent(request) || request->named)
		request_delete(number_of(key), request->named, is_silent(request));
	if (request->used)
		request_release(key, request);
}

static __always_inline void sessions_lost(const struct stream_sessions *sessions)
{
	if (sessions->iouring)
		row_unmatched(IOTR_IOURING, sessions->iouring);
	if (sessions->vfs)
		row_unmatched(IOTR_VFS, sessions->vfs);
	if (sessions->net)
		row_unmatched(IOTR_NET, sessions->net);
	if (sessions->conn)
		row_unmatched(IOTR_CONN, sessions->conn);
}

/* Counts a request that will have no row as lost, for every session that accepted it. */
static __always_inline void request_lost(const struct uring_request *request)
{
	const struct stream_sessions sessions = { request->iouring_sessions, request->vfs_sessions, request->net_sessions,
						  request->conn_sessions };

	sessions_lost(&sessions);
}

/*
 * Drops the request that has the key of one that begins: its end was not seen, or it is silent and has none, and it
 * must not end with the new one.
 */
static __always_inline void request_unended(struct iotr_control *page, __u64 key)
{
	struct uring_request *request = request_at(key);

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

/* The same. A global function. */
__noinline int request_drop(__u64 key)
{
	struct iotr_control *page = control_page();

	if (page)
		request_unended(page, key);
	return 0;
}

/*
 * The entry of a request that begins, which is not in flight before request_begun(). NULL: there is no room, which is counted
 * as a loss of the sessions. Only where its key is the address of the request.
 */
static __always_inline struct uring_request *request_place(__u64 key, const struct stream_sessions *sessions)
{
	struct uring_request *request;

	if (silent_seen || request_at(key))
		request_drop(number_of(key));
	request = flight_take(&uring_requests, key, uring_elsewhere);
	if (request)
		sessions_set(request, sessions);
	else
		sessions_lost(sessions);
	return request;
}

/* False: there is a request with that key, or no room. */
static __always_inline bool request_put(__u64 key, const struct uring_request *request)
{
	struct uring_request *entry = request_at(key) ? NULL : flight_take(&uring_requests, key, uring_elsewhere);

	if (!entry)
		return false;
	__builtin_memcpy(FLIGHT_REST(entry), FLIGHT_REST(request), FLIGHT_REST_SIZE(entry));
	entry->used = 1;
	return true;
}

/* Puts what IOURING has of a silent request where it is not missed. */
static __always_inline void silent_put(__u64 key, struct uring_request *request)
{
	silent_seen = true;
	request->used = 0; /* by which it is told from the entry in uring_requests */
	if (bpf_map_update_elem(&uring_silent, &key, request, BPF_ANY))
		row_unmatched(IOTR_IOURING, request->iouring_sessions);
	request->iouring_sessions = 0;
}

/* Begins a request that was filled in in its entry, unless no session is left that accepts it; false: it is not in flight. */
static __always_inline bool request_begun(__u64 key, struct uring_request *request)
{
	if (is_silent(request) && request->iouring_sessions)
		silent_put(key, request);
	if (!sessions_of(request)) {
		request_release(key, request);
		return false;
	}
	request->used = 1;
	return true;
}

/*
 * Puts a request that was made in a buffer into the table unless no session is left that accepts it; false: it is not there.
 * One that has no room is counted as lost; so is one without a key, 0. What had the key before is dropped: mostly it is only
 * looked for if the key turns out to be in use.
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

__u64 rings_made SEC(".data"); /* count of rings that were made: after each of them a ring may be where another one was */

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

/* The first free key among those of the ring and user_data; 0: there is none. */
static __always_inline __u64 request_key_free(void *ring, __u64 user_data)
{
	for (__u32 index = 0; index < ALIKE_MAX; index++) {
		__u64 key = request_key_at(ring, user_data, index);

		if (request_at(key))
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
		const struct uring_request *request = request_at(key);

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
		const struct uring_request *request = request_at(key);

		if (request && request->tag == tag)
			return key;
	}
	return 0;
}
