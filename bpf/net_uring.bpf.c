// SPDX-License-Identifier: GPL-2.0-or-later
/* Data sent and received through IP sockets by io_uring, from submission to completion; see async.bpf.c. */
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

/* Bits of `flags` in struct io_sr_msg: a multishot request, or one that takes a bundle of buffers. */
#define REPEATING (1 << 1 | 1 << 4)

struct net_request {
	struct actor actor;
	struct noted noted; /* sock 0: a file in the ring's own table, known at the end */
	__u64 sessions;
	__u64 start_ns;
	__u64 size;
	__u64 message; /* user address of the struct msghdr, 0: none */
	__u32 flags;
	__u32 room; /* bytes of the user's buffer for the sender's address */
	__u8 operation;
	__u8 has_flags;
	__u16 index; /* number of the ring's entry, see uring_entry_index() */
	__u8 repeats; /* has several completions */
	__u8 pad[3];
};

HASH_OF(net_requests, HASH, __u64, struct net_request, IOTR_URING);

static __always_inline __u64 sessions_of(struct iotr_control *page, __u64 opcode)
{
	const __u64 *wanted = page->operation[IOTR_NET];
	__u64 sessions = opcode & SENDS ? wanted[IOTR_NET_SEND] :
			 opcode & RECEIVES ? wanted[IOTR_NET_RECEIVE] : 0;

	return filter_fileless(page, sessions);
}

/* Saves the socket of an open file; false: it is not an IP socket. */
static __always_inline bool socket_of_file(struct noted *noted, __u64 file)
{
	noted->sock = sock_of_file(file);
	if (!noted->sock)
		return false;
	socket_fill(&noted->socket, noted->sock);
	return is_ip(noted->socket.family);
}

/* Saves the socket of a request, if it is known yet; false: it is not an IP socket. */
static __always_inline bool note_socket(struct noted *noted, struct io_kiocb *request)
{
	__u64 file;

	if (!HAS_REQUEST_CQE)
		file = (__u64)READ(struct io_kiocb, request, file);
	else if (READ(struct io_kiocb, request, flags) & IOSQE_FIXED_FILE)
		return true;
	else
		file = file_of_fd(current_task(), READ(struct io_kiocb, request, cqe.fd));
	return socket_of_file(noted, file);
}

/* Whether a request may have more than one completion. */
static __always_inline bool repeats(struct io_kiocb *request, __u64 opcode)
{
	if (!HAS_REQUEST_CQE) /* such kernels have no requests of this kind */
		return false;
	if (opcode & URING_ONE(READ_MULTISHOT))
		return true;
	return opcode & (URING_ONE(SEND) | URING_ONE(RECV) | URING_ONE(RECVMSG)) &&
	       HAS_MESSAGE_FLAGS &&
	       READ(struct io_sr_msg, request, flags) & REPEATING;
}

/* Reads what a request asks for after the kernel has prepared it: it begins with struct io_rw or io_sr_msg. */
static __always_inline void entry_of_ready(struct io_kiocb *request, __u64 opcode, struct uring_entry *entry)
{
	__builtin_memset(entry, 0, sizeof(*entry));
	if (!(opcode & FLAGGED)) {
		entry->length = READ(struct io_rw, request, len);
		entry->address = READ(struct io_rw, request, addr);
		return;
	}
	entry->length = READ(struct io_sr_msg, request, len);
	entry->address = ADDRESS(struct io_sr_msg, request, umsg);
	entry->operation_flags = READ(struct io_sr_msg, request, msg_flags);
}

static __always_inline void note_request(struct net_request *net, const struct uring_entry *entry, __u64 opcode)
{
	struct message message = {};

	net->size = opcode & URING_VECTORS ? iovec_bytes(entry->address, entry->length, 0) : entry->length;
	if (!(opcode & FLAGGED))
		return;
	net->has_flags = 1;
	net->flags = entry->operation_flags;
	if (!(opcode & MESSAGES))
		return;
	net->message = entry->address;
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

/* Sets the sessions that accept a request, and its operation; false: there are none. */
static __always_inline bool net_begins(struct net_request *net, __u64 opcode)
{
	struct iotr_control *page = control_page();
	struct task_struct *task = current_task();
	__u32 tgid = task_tgid(task);

	if (!page || is_own(page, tgid))
		return false;
	net->sessions = filter_begin(page, task, IOTR_NET, sessions_of(page, opcode), tgid);
	net->operation = opcode & SENDS ? IOTR_NET_SEND : IOTR_NET_RECEIVE;
	return net->sessions;
}

/* Saves a request in net_requests; false: there is no room, which is counted as a loss. */
static __always_inline bool net_keep(__u64 key, struct net_request *net)
{
	actor_current(&net->actor);
	if (!HAS_REQUEST_CQE) /* otherwise done for every request: see URING_BEGINS */
		net_unended(key);
	net->start_ns = bpf_ktime_get_ns();
	if (!bpf_map_update_elem(&net_requests, &key, net, BPF_ANY))
		return true;
	row_unmatched(IOTR_NET, net->sessions);
	return false;
}

static __always_inline int net_submitted(struct io_kiocb *request, __u64 key)
{
	__u64 opcode = uring_set(READ(struct io_kiocb, request, opcode));
	struct net_request net = {};
	struct uring_entry entry;

	if (!net_begins(&net, opcode) || !note_socket(&net.noted, request))
		return 0;
	entry_of_ready(request, opcode, &entry);
	note_request(&net, &entry, opcode);
	net.index = uring_entry_index(READ(struct io_kiocb, request, ctx));
	net.repeats = repeats(request, opcode);
	if (net.repeats) {
		net.message = 0; /* addresses are in the buffers that the kernel chooses */
		net.size = net.size ?: IOTR_UNKNOWN;
	}
	if (net_keep(key, &net) && net.repeats && !repeat_note(request))
		row_unmatched(IOTR_NET, net.sessions);
	return 0;
}

static __always_inline void net_refused(__u64 key, const struct uring_entry *entry)
{
	__u64 opcode = uring_set(entry->opcode);
	struct net_request net = {};

	if (!net_begins(&net, opcode))
		return;
	if (!(entry->flags & IOSQE_FIXED_FILE) && !socket_of_file(&net.noted, file_of_fd(current_task(), entry->fd)))
		return;
	note_request(&net, entry, opcode);
	net_keep(key, &net);
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
	row->head.unread = net->size == IOTR_UNKNOWN && !net->repeats && result >= 0;
	row->size = net->size;
	row->bytes = result < 0 ? 0 : result;
	row->flags = net->flags;
	row->error = result < 0 ? -result : 0;
	row->has_flags = net->has_flags;
	row->pad = 0;
	row_commit(row);
}

/* Completes what is known of the socket at the end of a request; false: it is not an IP socket. */
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
URING_REFUSED(net, net_requests, struct net_request, net_refused, net_unended)
URING_ENDS(net, told, net_told_510)
URING_OVERFLOWS(net, net_requests)

char LICENSE[] SEC("license") = "GPL";
