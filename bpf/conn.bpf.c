// SPDX-License-Identifier: GPL-2.0-or-later
/* The life of sockets, by system calls; and the outcome of TCP connections that are made without blocking. */
#include "actor.bpf.h"
#include "plug.bpf.h"
#include "conn_close.bpf.h"
#include "registers.bpf.h"

#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT    2
#define TCP_SYN_RECV    3
#define TCP_CLOSE       7
#define EINPROGRESS     115

/* ---- names of Unix sockets that are being closed ---- */

/* By thread. */
HASH_OF(closing, HASH, __u64, struct unix_names, IOTR_CLOSING);
ARRAY_OF(closing_blank, struct unix_names, 1, 0);

/* Saves the names of a Unix socket that is about to be closed. */
static __always_inline void closing_note(__u64 thread, __u64 sock)
{
	struct unix_names *names;
	__u32 zero = 0;

	names = bpf_map_lookup_elem(&closing_blank, &zero);
	if (!names || bpf_map_update_elem(&closing, &thread, names, BPF_ANY))
		return;
	names = bpf_map_lookup_elem(&closing, &thread);
	if (names)
		unix_names_note(names, sock);
}

static __always_inline void closing_fill(struct iotr_conn_record *row, __u64 thread)
{
	struct unix_names *names = bpf_map_lookup_elem(&closing, &thread);

	row->head.unread = !names; /* `closing` was full */
	if (names)
		unix_names_noted(row, names);
}

static __always_inline void closing_forget(const struct slot *slot)
{
	const struct noted *noted = (const struct noted *)slot->own;
	__u64 thread = slot->thread;

	if (noted->socket.family == AF_UNIX)
		bpf_map_delete_elem(&closing, &thread);
}

/* ---- connections that are being made ---- */

/*
 * A connection from the start of connect(2) on, by struct sock. The return of the call and the outcome of
 * the connection may come in either order, on two CPUs: each sets its flag and then reads the other's. If
 * both see both, the one that deletes the entry in connect_claims writes the row.
 */
struct connecting {
	struct actor actor;
	__u64 sessions;
	__u64 start_ns;
	__u64 end_ns; /* time of the outcome */
	__u32 returned; /* 1: the call has returned -EINPROGRESS */
	__u32 decided; /* 1: the outcome is known */
	__s32 outcome; /* 0 or negative errno */
	__s32 fd;
};

HASH_OF(connects, HASH, __u64, struct connecting, IOTR_CONNECTING);
HASH_OF(connect_claims, HASH, __u64, __u32, IOTR_CONNECTING);

static __always_inline void connecting_forget(__u64 sock)
{
	bpf_map_delete_elem(&connect_claims, &sock);
	bpf_map_delete_elem(&connects, &sock);
}

/* Drops a connection whose outcome was not seen, and counts it as lost. */
static __always_inline void connecting_unseen(const struct connecting *connecting, __u64 sock)
{
	struct iotr_control *page = control_page();

	if (page && connecting->returned) /* otherwise the call makes a row itself */
		row_unended(page, IOTR_CONN,
			    connecting->sessions & page->operation[IOTR_CONN][IOTR_CONN_CONNECT],
			    connecting->start_ns);
	connecting_forget(sock);
}

static __always_inline void connecting_begin(const struct slot *slot, const struct noted *noted)
{
	struct connecting connecting = {
		.sessions = slot->sessions,
		.start_ns = slot->start_ns,
		.fd = slot->args[0],
	};
	const struct connecting *unseen;
	__u64 sock = noted->sock;
	__u32 claim = 0;

	if (!sock || !is_ip(noted->socket.family) || noted->socket.protocol != IPPROTO_TCP ||
	    READ(struct sock, sock, __sk_common.skc_state) != TCP_CLOSE)
		return;
	unseen = bpf_map_lookup_elem(&connects, &sock);
	if (unseen)
		connecting_unseen(unseen, sock);
	actor_current(&connecting.actor);
	bpf_map_update_elem(&connect_claims, &sock, &claim, BPF_ANY);
	if (bpf_map_update_elem(&connects, &sock, &connecting, BPF_ANY))
		bpf_map_delete_elem(&connect_claims, &sock);
}

/* Writes the row of a connection's outcome. */
static __always_inline void connecting_emit(const struct connecting *from, __u64 sock)
{
	struct iotr_control *page = control_page();
	struct iotr_conn_record *row;
	__u64 sessions;

	if (!page)
		return;
	sessions = from->sessions & page->operation[IOTR_CONN][IOTR_CONN_CONNECT];
	sessions = filter_begun(page, sessions, from->start_ns);
	sessions = filter_end(page, sessions, from->end_ns - from->start_ns, IOTR_UNKNOWN, from->outcome);
	if (!sessions)
		return;
	row = row_begin(IOTR_CONN, IOTR_CONN_CONNECT, sizeof(*row), sessions);
	if (!row)
		return;
	head_fill(&row->head, sessions, from->start_ns, from->end_ns);
	actor_head(&row->head, &from->actor);
	row_clear_from(row, sizeof(row->head), sizeof(*row));
	socket_fill(&row->socket, sock);
	socket_kind(row);
	row->fd = from->fd;
	row->has_fd = from->fd >= 0;
	row->result = from->outcome;
	row_commit(row);
}

/* Both flags are set: writes the row, unless the other CPU does. */
static __always_inline void connecting_end(const struct connecting *connecting, __u64 sock)
{
	if (bpf_map_delete_elem(&connect_claims, &sock))
		return;
	connecting_emit(connecting, sock);
	bpf_map_delete_elem(&connects, &sock);
}

/* The call has returned. */
static __always_inline void connecting_returns(const struct slot *slot, const struct noted *noted,
					       long result)
{
	__u64 sock = noted->sock;
	struct connecting *connecting = bpf_map_lookup_elem(&connects, &sock);

	if (!connecting || connecting->start_ns != slot->start_ns) {
		if (result == -EINPROGRESS && noted->socket.protocol == IPPROTO_TCP)
			row_unmatched(IOTR_CONN, slot->sessions);
		return;
	}
	if (result != -EINPROGRESS) {
		connecting_forget(sock);
		return;
	}
	__sync_fetch_and_add(&connecting->returned, 1); /* before the next is read */
	if (*(volatile __u32 *)&connecting->decided)
		connecting_end(connecting, sock);
}

/* Whether the socket is being connected by what sends through it: MSG_FASTOPEN, of a call or of io_uring. */
static __always_inline bool is_fast_open(const struct sock *sock)
{
	return bpf_core_field_exists(((struct tcp_sock *)0)->fastopen_req) && READ(struct tcp_sock, sock, fastopen_req);
}

/* The descriptor of the call that the current task sends with; -1: not known, as of a request of io_uring. */
static __always_inline __s32 sending_fd(__u64 sock)
{
	struct pt_regs *regs = user_registers();
	bool compat = abi_of(current_task()) == IOTR_ABI_COMPAT;
	__s32 fd = compat ? REGISTER(regs, bx) : REGISTER(regs, di);
	__u32 number = REGISTER(regs, orig_ax);
	const struct iotr_plug *plug;
	struct iotr_control *page = control_page();

	if (!page || number >= IOTR_CALLS)
		return -1;
	plug = page->plugs[compat] + call_index(number);
	return plug->stream == IOTR_NET && plug->operation == IOTR_NET_SEND && sock_of_fd(fd) == sock ? fd : -1;
}

/* A SYN is about to be sent that no connect(2) asked for: its connection makes a row when its outcome is known. */
static __always_inline void fast_open(__u64 sock)
{
	struct connecting connecting = { .returned = 1 };
	struct iotr_control *page = control_page();
	__u32 claim = 0;

	if (!page)
		return;
	connecting.sessions = filter_fileless(page, sample(page, IOTR_CONN, page->operation[IOTR_CONN][IOTR_CONN_CONNECT]));
	connecting.sessions = filter_current(page, connecting.sessions);
	if (!connecting.sessions)
		return;
	connecting.start_ns = bpf_ktime_get_ns();
	connecting.fd = sending_fd(sock);
	actor_current(&connecting.actor);
	bpf_map_update_elem(&connect_claims, &sock, &claim, BPF_ANY);
	if (!bpf_map_update_elem(&connects, &sock, &connecting, BPF_ANY))
		return;
	bpf_map_delete_elem(&connect_claims, &sock);
	row_unmatched(IOTR_CONN, connecting.sessions);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(conn_state, const struct sock *sock, int before, int after)
{
	__u64 key = (__u64)sock;
	struct connecting *connecting;

	if (after == TCP_SYN_SENT && is_fast_open(sock)) {
		fast_open(key);
		return 0;
	}
	if (after != TCP_ESTABLISHED && after != TCP_CLOSE)
		return 0;
	connecting = bpf_map_lookup_elem(&connects, &key);
	if (!connecting || connecting->decided)
		return 0;
	if (after == TCP_CLOSE && before != TCP_SYN_SENT && before != TCP_SYN_RECV) {
		connecting_unseen(connecting, key);
		return 0;
	}
	connecting->outcome = after == TCP_CLOSE ? -READ(struct sock, sock, sk_err) : 0;
	if (after == TCP_CLOSE && !connecting->outcome) { /* closed by its own process */
		connecting_forget(key);
		return 0;
	}
	connecting->end_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&connecting->decided, 1); /* before the next is read */
	if (*(volatile __u32 *)&connecting->returned)
		connecting_end(connecting, key);
	return 0;
}

/* ---- calls ---- */

/* dup2 and dup3 close the descriptor that is their second argument, unless it is the first one as well. */
static __always_inline bool replaces(struct plug_call *call)
{
	if (call->args[0] == call->args[1])
		return false;
	call->args[0] = call->args[1];
	return true;
}

static __always_inline int conn_begins(struct call_context context)
{
	struct plug_call call;
	struct noted *noted;
	struct slot *slot;
	__u64 sock;

	if (!plug_wanted(context, &call))
		return 0;
	if (call.plug->kind == IOTR_PLUG_RANGE)
		return close_range(&call);
	if (call.plug->kind == IOTR_PLUG_REPLACES && !replaces(&call))
		return 0;
	sock = call.plug->operation == IOTR_CONN_SOCKET_CREATE ? 0 : sock_of_fd(call.args[0]);
	if (call.plug->operation == IOTR_CONN_CLOSE && !sock)
		return 0;
	slot = plug_takes(&call);
	if (!slot)
		return 0;
	noted = (struct noted *)slot->own;
	noted->sock = sock;
	noted->socket.family = 0;
	if (sock)
		socket_fill(&noted->socket, sock);
	if (slot->operation == IOTR_CONN_CLOSE && noted->socket.family == AF_UNIX)
		closing_note(slot->thread, sock);
	if (slot->operation == IOTR_CONN_CONNECT)
		connecting_begin(slot, noted);
	plug_noted(slot, &call);
	return 0;
}

/* Sets the row's descriptor: the one the call is about, or that it made; of two made, the first or `second`. */
static __always_inline void fd_fill(struct iotr_conn_record *row, const struct slot *slot, long result,
				    bool second)
{
	row->fd = slot->args[0];
	row->has_fd = true;
	if (slot->operation != IOTR_CONN_SOCKET_CREATE && slot->operation != IOTR_CONN_ACCEPT)
		return;
	row->fd = result;
	row->has_fd = result >= 0;
	if (slot->kind == IOTR_PLUG_PAIR && row->has_fd)
		row->has_fd = !bpf_probe_read_user(&row->fd, sizeof(row->fd),
						   (void *)(slot->args[3] + second * sizeof(row->fd)));
}

/*
 * Fills in the row's socket at the end of the call, and returns its struct sock; 0: it is gone. For a
 * call that made a descriptor it is the new socket.
 */
static __always_inline __u64 socket_now(struct iotr_conn_record *row, const struct slot *slot)
{
	const struct noted *noted = (const struct noted *)slot->own;
	bool made = slot->operation == IOTR_CONN_SOCKET_CREATE ||
		    (slot->operation == IOTR_CONN_ACCEPT && row->has_fd);
	__u64 sock = slot->operation == IOTR_CONN_CLOSE || (made && !row->has_fd) ? 0 :
			     sock_of_fd(made ? (__u32)row->fd : (__u32)slot->args[0]);

	if (!made && sock != noted->sock)
		sock = 0;
	if (sock)
		socket_fill(&row->socket, sock);
	if (slot->operation == IOTR_CONN_CONNECT && sock)
		return sock; /* connecting to AF_UNSPEC removes the peer, so the addresses at the start do not count */
	if (!made && noted->sock && (!sock || (noted->socket.local_port && !row->socket.local_port)))
		row->socket = noted->socket; /* as at the start: the end of the connection cleared its address */
	return sock;
}

static __always_inline void ends_fill(struct iotr_conn_record *row, const struct slot *slot, __u64 sock)
{
	if (slot->operation != IOTR_CONN_CLOSE && sock)
		unix_names_fill(row, sock);
	else if (slot->operation == IOTR_CONN_CLOSE && row->socket.family == AF_UNIX)
		closing_fill(row, slot->thread);
}

/* A call that failed has set no address; the row gets the one that was asked for. */
static __always_inline void asked_fill(struct iotr_conn_record *row, const struct slot *slot, long result)
{
	struct iotr_socket *socket = &row->socket;
	__u64 user = slot->args[1], length = (__u32)slot->args[2];

	if (result >= 0 || result == -EINPROGRESS)
		return;
	if (slot->operation == IOTR_CONN_BIND) {
		if (socket->family == AF_UNIX)
			row->local_length = unix_name_user(row->local_name, user, length);
		else if (is_ip(socket->family))
			end_fill(socket, socket->local, &socket->local_port, user, length);
	} else if (slot->operation == IOTR_CONN_CONNECT) {
		if (socket->family == AF_UNIX)
			row->remote_length = unix_name_user(row->remote_name, user, length);
		else if (is_ip(socket->family))
			end_fill(socket, socket->remote, &socket->remote_port, user, length);
	}
}

static __always_inline void kind_fill(struct iotr_conn_record *row, const struct slot *slot)
{
	bool creates = slot->operation == IOTR_CONN_SOCKET_CREATE;

	if (row->socket.family)
		socket_kind(row);
	if (!creates)
		return;
	row->has_socket = true;
	if (row->socket.family && is_ip(row->socket.family))
		return;
	row->domain = slot->args[0];
	row->type = slot->args[1] & SOCK_TYPE_MASK;
	row->protocol = slot->args[2];
}

static __always_inline void conn_fill(struct iotr_conn_record *row, const struct slot *slot, long result,
				      bool second)
{
	__u64 sock;

	row_clear_from(row, sizeof(row->head), sizeof(*row));
	row->result = result;
	row->argument = slot->args[1];
	fd_fill(row, slot, result, second);
	sock = socket_now(row, slot);
	ends_fill(row, slot, sock);
	asked_fill(row, slot, result);
	kind_fill(row, slot);
}

/* Writes the row of the second socket that socketpair made. A global function. */
__noinline int conn_second(__u64 thread, __u64 result)
{
	struct slot *slot = slot_find(thread);
	struct iotr_conn_record *row = slot ? plug_row(slot, sizeof(*row), IOTR_UNKNOWN, false) : NULL;

	if (!row)
		return 0;
	conn_fill(row, slot, result, true);
	row_commit(row);
	return 0;
}

static __always_inline int conn_ends(struct call_context context, long result)
{
	struct slot *slot = plug_ends(context, result);
	struct iotr_conn_record *row = NULL;

	if (!slot)
		return 0;
	if (slot->kind != IOTR_PLUG_REPLACES || !plug_failed(result)) /* a dup2 that fails closes nothing */
		row = plug_row(slot, sizeof(*row), IOTR_UNKNOWN, plug_failed(result));
	if (row) {
		conn_fill(row, slot, result, false);
		row_commit(row);
	}
	if (slot->kind == IOTR_PLUG_PAIR && !plug_failed(result))
		conn_second(slot->thread, result);
	if (slot->operation == IOTR_CONN_CLOSE)
		closing_forget(slot);
	if (slot->operation == IOTR_CONN_CONNECT)
		connecting_returns(slot, (struct noted *)slot->own, result);
	plug_done(slot, context);
	return 0;
}

PLUG_PROGRAMS(CONN, conn, conn_begins, conn_ends)

SEC("tp_btf/sched_process_exit")
int BPF_PROG(conn_process_exit)
{
	return thread_ends();
}

char LICENSE[] SEC("license") = "GPL";
