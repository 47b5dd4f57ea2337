// SPDX-License-Identifier: GPL-2.0-or-later
/* Data sent and received through IP sockets, by system calls. */
#include "messages.bpf.h"
#include "plug.bpf.h"
#include "sockets.bpf.h"

#define MESSAGES_MAX   1024 /* maximum of messages of one call, the same as the kernel's */
#define MESSAGES_CHUNK 32
#define MESSAGES_ROWS  64 /* maximum of rows of one call: the last row is for all remaining messages */

/* ---- arrays of messages; global functions ---- */

static __always_inline __u32 message_stride(__u32 compat)
{
	return compat ? 32 : 64; /* struct mmsghdr: a struct msghdr and the bytes transferred */
}

/* Bytes that up to MESSAGES_CHUNK messages ask for; IOTR_UNKNOWN: unreadable, or one has over IOV_CHUNK pieces. */
__noinline __u64 messages_chunk(__u64 array, __u32 count, __u32 compat)
{
	__u64 total = 0, bytes;
	struct message message;

	for (__u32 i = 0; i < MESSAGES_CHUNK && i < count; i++) {
		if (!message_read(array + i * message_stride(compat), compat, &message) ||
		    message.count > IOV_CHUNK)
			return IOTR_UNKNOWN;
		bytes = iovec_chunk(message.vector, message.count, compat);
		if (bytes == IOTR_UNKNOWN)
			return IOTR_UNKNOWN;
		total += bytes;
	}
	return total;
}

__noinline __u64 messages_size(__u64 array, __u32 count, __u32 compat)
{
	__u64 total = 0, bytes;

	for (__u32 first = 0; first < MESSAGES_MAX && first < count; first += MESSAGES_CHUNK) {
		bytes = messages_chunk(array + first * message_stride(compat), count - first, compat);
		if (bytes == IOTR_UNKNOWN)
			return IOTR_UNKNOWN;
		total += bytes;
	}
	return total;
}

__noinline __u64 done_chunk(__u64 array, __u32 count, __u32 compat)
{
	__u32 stride = message_stride(compat), done;
	__u64 total = 0;

	for (__u32 i = 0; i < MESSAGES_CHUNK && i < count; i++) {
		if (bpf_probe_read_user(&done, sizeof(done),
					(void *)(array + i * stride + (compat ? 28 : 56))))
			break;
		total += done;
	}
	return total;
}

/* Bytes transferred of the first `count` messages. */
__noinline __u64 messages_done(__u64 array, __u32 count, __u32 compat)
{
	__u64 total = 0;

	for (__u32 first = 0; first < MESSAGES_MAX && first < count; first += MESSAGES_CHUNK)
		total += done_chunk(array + first * message_stride(compat), count - first, compat);
	return total;
}

/* ---- a call that begins ---- */

/*
 * Finds the IP socket that a call is about. Returns the index of the argument that is its descriptor, as
 * splice may be to a socket or from one; -1: there is no IP socket. Reads it into `head`.
 */
static __always_inline int net_socket(struct task_struct *task, const struct plug_call *call, struct call_context context,
				      __u64 *sock, struct sock_head *head)
{
	int position = 0;

	*sock = 0;
	if (call->plug->kind == IOTR_PLUG_SPLICE) {
		*sock = sock_of_fd(argument_of(context, call->abi, 3));
		if (*sock)
			sock_read(head, *sock);
		position = *sock ? 2 : 0;
	}
	if (!*sock)
		*sock = sock_of_fd_read(task, argument_of(context, call->abi, 1), head);
	return *sock && is_ip(head->family) ? position : -1;
}

/*
 * Bytes of the user's buffer for the sender's address. They are read at the start, as the kernel
 * overwrites them with the length of the address. If they cannot be read, enough is assumed.
 */
static __always_inline __u32 name_room(const struct slot *slot)
{
	struct message message;
	__u32 room;

	switch (slot->kind) {
	case IOTR_PLUG_PLAIN:
		if (!bpf_probe_read_user(&room, sizeof(room), (void *)slot->args[5]))
			return room;
		break;
	case IOTR_PLUG_MESSAGE:
	case IOTR_PLUG_MESSAGES:
		if (message_read(slot->args[1], slot->abi, &message))
			return message.name_size;
		break;
	}
	return SOCKADDR_IN6;
}

/* For a call that a session accepts. */
static __always_inline int net_begun(struct task_struct *task, struct call_context context, const struct plug_call *call)
{
	struct sock_head head;
	struct slot *slot;
	struct noted *noted;
	int position;
	__u64 sock;

	position = net_socket(task, call, context, &sock, &head);
	if (position < 0)
		return 0;
	slot = plug_slot(task, call);
	if (!slot)
		return 0;
	arguments(slot->args, context, call->abi);
	noted = (struct noted *)slot->own;
	noted->sock = sock;
	socket_fill_read(&noted->socket, &head, sock);
	if (slot->kind == IOTR_PLUG_SPLICE) {
		slot->operation = position ? IOTR_NET_SEND : IOTR_NET_RECEIVE;
		slot->args[0] = position ? slot->args[2] : slot->args[0];
	}
	if (slot->operation == IOTR_NET_RECEIVE && noted->socket.type != SOCK_STREAM)
		slot->args[5] = name_room(slot);
	plug_noted(slot, call);
	return 0;
}

static __always_inline int net_begins(struct call_context context)
{
	struct task_struct *task = current_task();
	struct plug_call call;

	return plug_drawn(task, context, &call) ? net_begun(task, context, &call) : 0;
}

/* ---- a call that ends ---- */

/* Sets the remote address where the call itself has it; a stream socket has only that of its connection. */
static __always_inline void remote_named(const struct slot *slot, struct iotr_socket *socket, long result)
{
	__u64 name = slot->args[4], room = slot->args[5];
	struct message message;

	if (socket->type == SOCK_STREAM || (slot->operation == IOTR_NET_RECEIVE && result < 0))
		return;
	if (slot->kind == IOTR_PLUG_MESSAGE || slot->kind == IOTR_PLUG_MESSAGES) {
		if (!message_read(slot->args[1], slot->abi, &message))
			return;
		name = message.name;
		if (slot->operation == IOTR_NET_SEND)
			room = message.name_size;
	} else if (slot->kind != IOTR_PLUG_PLAIN) {
		return;
	}
	end_fill(socket, socket->remote, &socket->remote_port, name, room);
}

static __always_inline __u64 net_size(const struct slot *slot)
{
	switch (slot->kind) {
	case IOTR_PLUG_VECTOR:
		return iovec_bytes(slot->args[1], slot->args[2], slot->abi);
	case IOTR_PLUG_MESSAGE:
		return message_bytes(slot->args[1], slot->abi);
	case IOTR_PLUG_MESSAGES:
		return messages_size(slot->args[1], slot->args[2], slot->abi);
	case IOTR_PLUG_SENDFILE:
		return slot->args[3];
	case IOTR_PLUG_SPLICE:
		return slot->args[4];
	default:
		return slot->args[2];
	}
}

static __always_inline void flags_fill(struct iotr_net_record *row, const struct slot *slot)
{
	__u32 kind = slot->kind;

	row->has_flags = kind == IOTR_PLUG_PLAIN || kind == IOTR_PLUG_MESSAGE || kind == IOTR_PLUG_MESSAGES;
	row->flags = !row->has_flags ? 0 : kind == IOTR_PLUG_MESSAGE ? slot->args[2] : slot->args[3];
}

static __always_inline void net_row(struct slot *slot, long result)
{
	struct noted *noted = (struct noted *)slot->own;
	__u64 size = net_size(slot), bytes = result < 0 ? 0 : result;
	struct iotr_net_record *row;

	remote_named(slot, &noted->socket, result);
	row = plug_row_at(slot, IOTR_NET, sizeof(*row), size, plug_failed(result), true);
	if (!row)
		return;
	row->socket = noted->socket;
	row->head.unread = size == IOTR_UNKNOWN && result >= 0;
	row->size = size;
	row->bytes = bytes;
	flags_fill(row, slot);
	row->error = result < 0 ? -result : 0;
	row->pad = 0;
	row_commit(row);
}

/*
 * Writes a row for one message of the call that ends, or for `count` consecutive ones, which has the
 * address of the first. A global function.
 */
__noinline int message_row(__u32 index, __u32 count)
{
	struct slot *slot = slot_find(thread_here());
	__u64 array, size, bytes, room;
	struct iotr_net_record *row;
	const struct noted *noted;
	struct message message;

	if (!slot)
		return 0;
	noted = (const struct noted *)slot->own;
	array = slot->args[1] + index * message_stride(slot->abi);
	size = count == 1 ? message_bytes(array, slot->abi) : messages_size(array, count, slot->abi);
	bytes = messages_done(array, count, slot->abi);
	row = plug_row(slot, sizeof(*row), size, false);
	if (!row)
		return 0;
	row->socket = noted->socket;
	if (noted->socket.type != SOCK_STREAM && message_read(array, slot->abi, &message)) {
		room = message.name_size;
		if (slot->operation == IOTR_NET_RECEIVE && room > slot->args[5])
			room = slot->args[5];
		end_fill(&noted->socket, row->socket.remote, &row->socket.remote_port, message.name, room);
	}
	row->head.unread = size == IOTR_UNKNOWN;
	row->size = size;
	row->bytes = bytes;
	flags_fill(row, slot);
	row->error = 0;
	row->pad = 0;
	row_commit(row);
	return 0;
}

static __always_inline void message_rows(__u32 count)
{
	for (__u32 i = 0; i < MESSAGES_ROWS && i < count; i++)
		message_row(i, i == MESSAGES_ROWS - 1 ? count - i : 1);
}

static __always_inline int net_ended(struct slot *slot, struct call_context context, long result)
{
	struct noted *noted = (struct noted *)slot->own;

	if (!socket_settled(&noted->socket) && sock_of_fd(slot->args[0]) == noted->sock)
		socket_complete(noted);
	if (slot->kind == IOTR_PLUG_MESSAGES && result > 0)
		message_rows(result);
	else
		net_row(slot, result);
	plug_done(slot, context);
	return 0;
}

static __always_inline int net_ends(struct call_context context, long result)
{
	struct slot *slot = plug_ends(context, result);

	return slot ? net_ended(slot, context, result) : 0;
}

PLUG_PROGRAMS(NET, net, net_begins, net_ends)

/*
 * At function level these two are on all system calls themselves, in the place of plug_enter and plug_exit of syscalls.bpf.c: of
 * the calls that other streams than VFS record, those that send and receive are the most frequent ones, and pay for no tail call.
 */
SEC("tp_btf/sys_enter")
int BPF_PROG(plug_net_enter, struct pt_regs *regs, long number)
{
	struct call_context context = OF_REGS(regs);
	struct iotr_control *page = control_page();
	struct task_struct *task;
	struct plug_call call;

	call.number = context.number;
	call.plug = plug_of(page, context, &task, &call.abi);
	if (!call.plug)
		return 0;
	if (call.plug->stream == IOTR_NET) {
		if (!plug_accepted(page, task, context, sample(page, IOTR_NET, call.plug->sessions), &call))
			return 0;
		return net_begun(task, context, &call);
	}
	if (sample_first(page, call.plug->stream, call.plug->sessions))
		bpf_tail_call(ctx, &plug_enters, call.plug->stream);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(plug_net_exit, struct pt_regs *regs, long result)
{
	struct call_context context = OF_REGS(regs);
	struct iotr_control *page = control_page();
	__u64 thread = thread_of(context);
	struct slot *slot;

	if (cache_wanted())
		bpf_tail_call(ctx, &plug_exits, IOTR_CACHE);
	slot = slot_find(thread);
	if (!page || !slot || !slot->sessions)
		return 0;
	if (slot->stream == IOTR_NET)
		return plug_ended(page, slot, thread, context, result) ? net_ended(slot, context, result) : 0;
	bpf_tail_call(ctx, &plug_exits, slot->stream);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
