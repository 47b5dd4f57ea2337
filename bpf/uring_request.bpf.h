/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A request of io_uring in flight, and the table of them; see uring_requests.bpf.h. */
#pragma once

#include "actor.bpf.h"
#include "flight.bpf.h"
#include "sockets.bpf.h"

#define ALIKE_MAX 8 /* maximum of requests in flight with the same user_data in a ring */

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
	__u64 buffer; /* of a vector the first one; IOTR_UNKNOWN: none */
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
	struct flight flight;
	struct actor actor;
	__u64 start_ns;
	__u64 flow; /* that rows of other streams have, too; 0: none has */
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
	__u8 used; /* it is in flight; otherwise it is still being filled in */
	__u8 pad[3];
	struct iouring_part iouring;
	struct vfs_part vfs;
	struct noted noted; /* of NET and CONN. sock 0: a file in the ring's own table, known at the end */
	union { /* no request is of both */
		struct net_part net;
		struct conn_part conn;
	};
};

ARRAY_OF(uring_requests, struct uring_request, FLIGHTS, 0);
FLIGHT_ELSEWHERE(uring_elsewhere, uring_requests)

/* The request in flight that has a key; NULL: there is none. */
static __always_inline struct uring_request *request_at(__u64 key)
{
	struct uring_request *request = flight_find(&uring_requests, key, uring_elsewhere);

	return request && request->used ? request : NULL;
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
