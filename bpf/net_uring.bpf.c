// SPDX-License-Identifier: GPL-2.0-or-later
/* What goes through IP sockets by io_uring, from submission to completion; see async.bpf.c. */
#define REPEATS net_repeats

#include "actor.bpf.h"
#include "messages.bpf.h"
#include "sockets.bpf.h"
#include "uring_ends.bpf.h"

#define MESSAGES (URING_ONE(SENDMSG) | URING_ONE(RECVMSG) | URING_ONE(SENDMSG_ZC))
#define FLAGGED	 (MESSAGES | URING_ONE(SEND) | URING_ONE(RECV) | URING_ONE(SEND_ZC))
#define SENDS                                                                                   \
	(URING_WRITES | URING_ONE(SENDMSG) | URING_ONE(SEND) | URING_ONE(SEND_ZC) |              \
	 URING_ONE(SENDMSG_ZC))
#define RECEIVES (URING_READS | URING_ONE(RECVMSG) | URING_ONE(RECV))

/* Of struct io_sr_msg: a multishot request, or one that takes a bundle of buffers. */
#define REPEATING (1 << 1 | 1 << 4)

struct net_request {
	struct actor actor;
	struct noted noted; /* sock 0: a file of the ring's own, known when the request ends */
	__u64 sessions;
	__u64 start_ns;
	__u64 size;
	__u64 message; /* the user's, 0: none */
	__u32 flags;
	__u32 room; /* for the sender's address */
	__u8 operation;
	__u8 has_flags;
	__u8 repeats; /* has several completions */
};

HASH_OF(net_requests, HASH, __u64, struct net_request, IOTR_URING);

static __always_inline __u64 sessions_of(struct iotr_control *page, __u64 opcode)
{
	const __u64 *wanted = page->operation[IOTR_NET];
	__u64 sessions = opcode & SENDS ? wanted[IOTR_NET_SEND] :
			 opcode & RECEIVES ? wanted[IOTR_NET_RECEIVE] : 0;

	return filter_fileless(page, sessions);
}

/* The socket, as far as it is known; false: it is none of IP. */
static __always_inline bool note_socket(struct noted *noted, struct io_kiocb *request)
{
	__u64 file;

	if (!bpf_core_field_exists(struct io_kiocb, cqe))
		file = (__u64)READ(struct io_kiocb, request, file);
	else if (READ(struct io_kiocb, request, flags) & IOSQE_FIXED_FILE)
		return true;
	else
		file = file_of_fd(current_task(), READ(struct io_kiocb, request, cqe.fd));
	noted->sock = sock_of_file(file);
	if (!noted->sock)
		return false;
	socket_fill(&noted->socket, noted->sock);
	return is_ip(noted->socket.family);
}

/* Whether a request may have more than one completion. */
static __always_inline bool repeats(struct io_kiocb *request, __u64 opcode)
{
	struct io_sr_msg *message = (struct io_sr_msg *)request;

	if (!bpf_core_field_exists(struct io_kiocb, cqe)) /* older than those */
		return false;
	if (opcode & URING_ONE(READ_MULTISHOT))
		return true;
	return opcode & (URING_ONE(SEND) | URING_ONE(RECV) | URING_ONE(RECVMSG)) &&
	       bpf_core_field_exists(message->flags) &&
	       READ(struct io_sr_msg, request, flags) & REPEATING;
}

/* What the request asks for: struct io_rw or struct io_sr_msg lies at its beginning. */
static __always_inline void note_request(struct net_request *net, struct io_kiocb *request, __u64 opcode)
{
	struct message message = {};
	__u32 length;

	if (!(opcode & FLAGGED)) {
		length = READ(struct io_rw, request, len);
		net->size = opcode & URING_VECTORS ?
				    iovec_bytes(READ(struct io_rw, request, addr), length, 0) :
				    length;
		return;
	}
	net->has_flags = 1;
	net->flags = READ(struct io_sr_msg, request, msg_flags);
	net->size = READ(struct io_sr_msg, request, len);
	if (!(opcode & MESSAGES))
		return;
	net->message = (__u64)READ(struct io_sr_msg, request, umsg);
	net->size = message_bytes(net->message, 0);
	if (message_read(net->message, 0, &message))
		net->room = message.name_size;
	if (net->operation == IOTR_NET_SEND && net->noted.socket.type != SOCK_STREAM)
		end_fill(&net->noted.socket, net->noted.socket.remote, &net->noted.socket.remote_port,
			 message.name, net->room);
}

static __always_inline void net_unended(__u64 key)
{
	END_UNSEEN(IOTR_NET, net_requests, struct net_request, key);
}

static __always_inline int net_submitted(struct io_kiocb *request, __u64 key)
{
	struct iotr_control *page = control_page();
	struct task_struct *task = current_task();
	__u32 tgid = task_tgid(task), number = READ(struct io_kiocb, request, opcode);
	__u64 opcode = uring_set(number);
	struct net_request net = {};

	if (!page || tgid == page->own_tgid)
		return 0;
	net.sessions = filter_begin(page, task, IOTR_NET, sessions_of(page, opcode), tgid);
	if (!net.sessions || !note_socket(&net.noted, request))
		return 0;
	actor_current(&net.actor);
	if (command_is_ours(&net.actor.command))
		return 0;
	net.operation = opcode & SENDS ? IOTR_NET_SEND : IOTR_NET_RECEIVE;
	note_request(&net, request, opcode);
	net.repeats = repeats(request, opcode);
	if (net.repeats) {
		net.message = 0; /* names are in the buffers that the kernel chooses */
		net.size = net.size ?: IOTR_UNKNOWN;
	}
	net_unended(key);
	net.start_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&net_requests, &key, &net, BPF_ANY) ||
	    (net.repeats && !repeat_note(request)))
		row_unmatched(IOTR_NET, net.sessions);
	return 0;
}

/* Writes the row of a request that ended. */
static __always_inline void net_emit(struct iotr_control *page, const struct net_request *net, __s32 result,
				     __u64 now)
{
	__u64 sessions = net->sessions & page->operation[IOTR_NET][net->operation & (IOTR_OPERATIONS_MAX - 1)];
	struct iotr_net_record *row;

	sessions = filter_begun(page, sessions, net->start_ns);
	sessions = filter_end(page, sessions, now - net->start_ns, net->size, result < 0);
	if (!sessions)
		return;
	row = row_begin(IOTR_NET, sizeof(*row), sessions);
	if (!row)
		return;
	head_fill(&row->head, sizeof(*row), IOTR_NET, net->operation, sessions, net->start_ns, now);
	actor_head(&row->head, &net->actor);
	row->socket = net->noted.socket;
	row->size = net->size;
	row->bytes = result < 0 ? 0 : result;
	row->flags = net->flags;
	row->error = result < 0 ? -result : 0;
	row->has_flags = net->has_flags;
	row->pad = 0;
	row_commit(row);
}

/* What of the socket is known only now; false: it is none of IP. */
static __always_inline bool complete(struct net_request *net, struct io_kiocb *request, __s32 result)
{
	struct noted *noted = &net->noted;
	__u64 sock = request ? sock_of_file((__u64)READ(struct io_kiocb, request, file)) : 0;
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
	    noted->socket.type != SOCK_STREAM && bpf_get_current_pid_tgid() >> 32 == net->actor.pid &&
	    message_read(net->message, 0, &message))
		end_fill(&noted->socket, noted->socket.remote, &noted->socket.remote_port, message.name,
			 net->room);
	return true;
}

static __always_inline int completed(struct io_kiocb *request, __u64 key, __s32 result, bool last)
{
	struct net_request *net = bpf_map_lookup_elem(&net_requests, &key);
	struct iotr_control *page = control_page();
	__u64 now = bpf_ktime_get_ns();

	if (!page || !net)
		return 0;
	if (complete(net, request, result))
		net_emit(page, net, result, now);
	if (!last)
		return 0;
	if (request && net->repeats)
		repeat_forget(request);
	bpf_map_delete_elem(&net_requests, &key);
	return 0;
}

static __always_inline int taken(struct io_kiocb *request)
{
	return net_submitted(request, uring_key(request));
}

static __always_inline int taken_510(void *ring, struct io_kiocb *request, __u8 opcode, __u64 user_data)
{
	return net_submitted(request, uring_key_510(ring, user_data));
}

URING_BEGINS(net, taken, taken_510, net_unended)
URING_ENDS(net, told, told_by_number)
URING_OVERFLOWS(net, net_requests)

char LICENSE[] SEC("license") = "GPL";
