/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data sent and received through IP sockets by io_uring: what NET's rows of requests need, and the rows. */
#pragma once

#include "messages.bpf.h"
#include "uring_requests.bpf.h"

#define MESSAGES (URING_ONE(SENDMSG) | URING_ONE(RECVMSG) | URING_ONE(SENDMSG_ZC))
#define FLAGGED	 (MESSAGES | URING_ONE(SEND) | URING_ONE(RECV) | URING_ONE(SEND_ZC))
#define SENDS                                                                                   \
	(URING_WRITES | URING_ONE(SENDMSG) | URING_ONE(SEND) | URING_ONE(SEND_ZC) |              \
	 URING_ONE(SENDMSG_ZC))
#define RECEIVES (URING_READS | URING_ONE(RECVMSG) | URING_ONE(RECV))

/* Bits of `flags` in struct io_sr_msg: a multishot request, or one that takes a bundle of buffers. */
#define REPEATING (1 << 1 | 1 << 4)

static __always_inline __u64 net_wanted(struct iotr_control *page, __u32 opcode)
{
	const __u64 *wanted = page->operation[IOTR_NET];
	__u64 set = uring_set(opcode);

	return filter_fileless(page, set & SENDS    ? wanted[IOTR_NET_SEND] :
				     set & RECEIVES ? wanted[IOTR_NET_RECEIVE] :
						      0);
}

/* Whether a request that the kernel has prepared may have more than one completion. */
static __always_inline bool net_repeats(__u64 kernel, __u32 opcode)
{
	__u64 set = uring_set(opcode);

	if (!HAS_REQUEST_CQE) /* such kernels have no requests of this kind */
		return false;
	if (set & URING_ONE(READ_MULTISHOT))
		return true;
	return set & (URING_ONE(SEND) | URING_ONE(RECV) | URING_ONE(RECVMSG)) && HAS_MESSAGE_FLAGS &&
	       READ(struct io_sr_msg, kernel, flags) & REPEATING;
}

static __always_inline void net_message(struct uring_request *request, const struct uring_entry *ready)
{
	struct iotr_socket *socket = &request->noted.socket;
	struct net_part *net = &request->net;
	struct message message = {};

	net->message = ready->address;
	net->size = message_bytes(net->message, 0);
	if (message_read(net->message, 0, &message))
		net->room = message.name_size;
	if (net->operation == IOTR_NET_SEND && socket->type != SOCK_STREAM)
		end_fill(socket, socket->remote, &socket->remote_port, message.name, net->room);
}

/*
 * Notes the socket of a request, before anything else is read of it, as most files are no sockets; false: nor is this.
 * `file`: the open file, 0: not known yet where it is in the ring's own table, otherwise none.
 */
static __always_inline bool net_note_socket(struct uring_request *request, const struct uring_entry *entry, __u64 file)
{
	request->noted.sock = sock_of_file(file);
	return request->noted.sock || (!file && entry->flags & IOSQE_FIXED_FILE);
}

/* Fills in the part of NET after net_note_socket(); false: it is no IP socket. A function of its own, for its stack. */
static __noinline bool net_begin(struct uring_request *request, const struct uring_entry *ready, bool repeats)
{
	__u64 set = uring_set(ready->opcode);
	struct net_part *net = &request->net;

	__builtin_memset(&request->noted.socket, 0, sizeof(request->noted.socket));
	if (request->noted.sock) {
		socket_fill(&request->noted.socket, request->noted.sock);
		if (!is_ip(request->noted.socket.family))
			return false;
	}
	__builtin_memset(net, 0, sizeof(*net));
	net->operation = set & SENDS ? IOTR_NET_SEND : IOTR_NET_RECEIVE;
	net->has_flags = !!(set & FLAGGED);
	net->repeats = repeats;
	if (net->has_flags)
		net->flags = ready->operation_flags;
	if (set & MESSAGES)
		net_message(request, ready);
	else
		net->size = set & URING_VECTORS ? iovec_bytes(ready->address, ready->length, 0) : ready->length;
	if (repeats) {
		net->message = 0; /* addresses are in the buffers that the kernel chooses */
		net->size = net->size ?: IOTR_UNKNOWN;
	}
	return true;
}

/* Completes what is known of the socket at the end of a request; false: it is not an IP socket. */
static __always_inline bool net_complete(struct uring_request *request, __u64 kernel, __s32 result)
{
	__u64 sock = kernel ? sock_of_file((__u64)READ(struct io_kiocb, kernel, file)) : 0;
	const struct net_part *net = &request->net;
	struct noted *noted = &request->noted;
	struct message message;

	if (!noted->sock && sock) {
		noted->sock = sock;
		socket_fill(&noted->socket, sock);
	}
	if (!is_ip(noted->socket.family))
		return false;
	if (sock == noted->sock && !socket_settled(&noted->socket))
		socket_complete(noted);
	if (net->operation == IOTR_NET_RECEIVE && net->message && result >= 0 &&
	    noted->socket.type != SOCK_STREAM && bpf_get_current_pid_tgid() >> 32 == request->actor.pid &&
	    message_read(net->message, 0, &message))
		end_fill(&noted->socket, noted->socket.remote, &noted->socket.remote_port, message.name,
			 net->room);
	return true;
}

/*
 * Writes the row of NET of the request that has the key. A global function, which looks for the request once more: the
 * verifier would go through it anew for each way that leads to it.
 */
__noinline int net_ends(__u64 key, __u64 kernel, __s32 result, __u64 now)
{
	struct uring_request *request = request_find(key);
	struct iotr_control *page = control_page();
	const struct net_part *net;
	struct iotr_net_record *row;
	__u64 sessions;

	if (!page || !request || !net_complete(request, kernel, result))
		return 0;
	net = &request->net;
	sessions = request->net_sessions & page->operation[IOTR_NET][net->operation & (IOTR_OPERATIONS_MAX - 1)];
	sessions = filter_begun(page, sessions, request->start_ns);
	sessions = filter_end(page, sessions, now - request->start_ns, net->size, result < 0);
	if (!sessions)
		return 0;
	row = row_begin(IOTR_NET, net->operation, sizeof(*row), sessions);
	if (!row)
		return 0;
	head_fill(&row->head, sessions, request->start_ns, now);
	actor_head(&row->head, &request->actor);
	row->socket = request->noted.socket;
	row->head.unread = net->size == IOTR_UNKNOWN && !net->repeats && result >= 0;
	row->size = net->size;
	row->bytes = result < 0 ? 0 : result;
	row->flags = net->flags;
	row->error = result < 0 ? -result : 0;
	row->has_flags = net->has_flags;
	row->pad = 0;
	row_commit(row);
	return 0;
}
