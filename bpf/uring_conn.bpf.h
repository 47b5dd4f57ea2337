/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of sockets by io_uring: what CONN's rows of requests need, and the rows. */
#pragma once

#include "uring_requests.bpf.h"

static __always_inline int conn_operation(__u8 opcode)
{
	switch (opcode) {
	case IOTR_IOURING_ACCEPT:
		return IOTR_CONN_ACCEPT;
	case IOTR_IOURING_CONNECT:
		return IOTR_CONN_CONNECT;
	case IOTR_IOURING_CLOSE:
		return IOTR_CONN_CLOSE;
	case IOTR_IOURING_SHUTDOWN:
		return IOTR_CONN_SHUTDOWN;
	case IOTR_IOURING_SOCKET:
		return IOTR_CONN_SOCKET_CREATE;
	case IOTR_IOURING_BIND:
		return IOTR_CONN_BIND;
	case IOTR_IOURING_LISTEN:
		return IOTR_CONN_LISTEN;
	default:
		return -1;
	}
}

static __always_inline __u64 conn_wanted(struct iotr_control *page, __u8 opcode)
{
	int operation = conn_operation(opcode);

	if (operation < 0)
		return 0;
	return filter_fileless(page, page->operation[IOTR_CONN][operation & (IOTR_OPERATIONS_MAX - 1)]);
}

/* ---- submission ---- */

static __always_inline void conn_note_entry(struct conn_part *conn, const struct uring_entry *entry)
{
	switch (conn->operation) {
	case IOTR_CONN_SOCKET_CREATE:
		conn->type = entry->offset & SOCK_TYPE_MASK;
		conn->protocol = entry->length;
		/* fall through */
	case IOTR_CONN_ACCEPT:
		conn->makes = true;
		conn->hides = entry->file_index != 0;
		break;
	case IOTR_CONN_BIND:
	case IOTR_CONN_CONNECT:
		conn->address = entry->address;
		conn->length = entry->offset;
		break;
	default:
		conn->argument = entry->length;
	}
}

/*
 * Fills in the part of CONN; false: it closes something that is no socket. `file` is as for net_note_socket(). A
 * function of its own, for its stack.
 */
static __noinline bool conn_begin(struct uring_request *request, const struct uring_entry *entry, __u64 file)
{
	struct noted *noted = &request->noted;
	struct conn_part *conn = &request->conn;

	__builtin_memset(noted, 0, sizeof(*noted));
	__builtin_memset(conn, 0, sizeof(*conn));
	conn->operation = conn_operation(entry->opcode);
	conn_note_entry(conn, entry);
	noted->sock = sock_of_file(file);
	if (noted->sock)
		socket_fill(&noted->socket, noted->sock);
	if (conn->operation != IOTR_CONN_CLOSE)
		return true;
	request->named = noted->socket.family == AF_UNIX;
	return noted->sock;
}

/* Saves the names of a Unix socket that is closed; without them it has no row: see conn_ends(). */
static __noinline int conn_note_names(__u64 key, __u64 sock)
{
	struct unix_names *names;
	__u32 zero = 0;

	names = bpf_map_lookup_elem(&uring_blank_names, &zero);
	if (!names || bpf_map_update_elem(&uring_unix_names, &key, names, BPF_ANY))
		return 0;
	names = bpf_map_lookup_elem(&uring_unix_names, &key);
	if (names)
		unix_names_note(names, sock);
	return 0;
}

/* ---- completion ---- */

/* The struct sock that a row is about, at the end of the request; 0: it cannot be found. `kernel` may be 0. */
static __always_inline __u64 conn_socket_now(const struct uring_request *request, __u64 kernel, __s32 result)
{
	bool own = bpf_get_current_pid_tgid() >> 32 == request->actor.pid;
	const struct conn_part *conn = &request->conn;
	__u64 sock = request->noted.sock;

	if (conn->makes && result >= 0)
		return own && !conn->hides ? sock_of_fd(result) : 0;
	if (conn->operation == IOTR_CONN_SOCKET_CREATE || conn->operation == IOTR_CONN_CLOSE)
		return 0;
	if (kernel)
		return sock_of_file((__u64)READ(struct io_kiocb, kernel, file));
	return own && sock_of_fd(request->fd) == sock ? sock : 0;
}

/* A request that failed has set no address; the row gets the one that was asked for. */
static __always_inline void conn_asked_fill(struct iotr_conn_record *row, const struct uring_request *request)
{
	const struct conn_part *conn = &request->conn;
	struct iotr_socket *socket = &row->socket;
	bool own = bpf_get_current_pid_tgid() >> 32 == request->actor.pid;

	if (row->result >= 0 || !own || !is_ip(socket->family))
		return;
	if (conn->operation == IOTR_CONN_BIND)
		end_fill(socket, socket->local, &socket->local_port, conn->address, conn->length);
	else if (conn->operation == IOTR_CONN_CONNECT)
		end_fill(socket, socket->remote, &socket->remote_port, conn->address, conn->length);
}

static __always_inline void conn_fd_fill(struct iotr_conn_record *row, const struct uring_request *request, bool fixed)
{
	const struct conn_part *conn = &request->conn;

	row->fd = conn->makes ? row->result : request->fd;
	row->has_fd = conn->makes ? row->result >= 0 && !conn->hides : !fixed;
}

static __always_inline void conn_fill(struct iotr_conn_record *row, const struct uring_request *request,
				      __u64 kernel)
{
	__u64 sock = conn_socket_now(request, kernel, row->result);
	const struct conn_part *conn = &request->conn;

	if (sock)
		socket_fill(&row->socket, sock);
	if (!sock || (request->noted.socket.local_port && !row->socket.local_port))
		row->socket = request->noted.socket;
	conn_fd_fill(row, request, kernel && !request->noted.sock && sock);
	if (sock)
		unix_names_fill(row, sock);
	conn_asked_fill(row, request);
	if (row->socket.family)
		socket_kind(row);
	if (conn->operation == IOTR_CONN_SOCKET_CREATE && (!row->socket.family || !is_ip(row->socket.family))) {
		row->has_socket = true;
		row->domain = request->fd;
		row->type = conn->type;
		row->protocol = conn->protocol;
	}
}

/* Writes the row of CONN of the request that has the key. A global function: see net_ends(). */
__noinline int conn_ends(__u64 key, __u64 kernel, __s32 result, __u64 now)
{
	const struct uring_request *request = request_find(key);
	struct iotr_control *page = control_page();
	struct iotr_conn_record *row;
	struct unix_names *names;
	__u64 sessions;

	if (!page || !request)
		return 0;
	names = request->named ? bpf_map_lookup_elem(&uring_unix_names, &key) : NULL;
	sessions = request->conn_sessions & page->operation[IOTR_CONN][request->conn.operation & (IOTR_OPERATIONS_MAX - 1)];
	sessions = filter_begun(page, sessions, request->start_ns);
	sessions = filter_end(page, sessions, now - request->start_ns, IOTR_UNKNOWN, result < 0);
	if (!sessions)
		return 0;
	if (request->named && !names) { /* there was no room for them */
		row_unmatched(IOTR_CONN, sessions);
		return 0;
	}
	row = row_begin(IOTR_CONN, request->conn.operation, sizeof(*row), sessions);
	if (!row)
		return 0;
	head_fill(&row->head, sessions, request->start_ns, now);
	actor_head(&row->head, &request->actor);
	row_clear_from(row, sizeof(row->head), sizeof(*row));
	row->result = result;
	row->argument = request->conn.argument;
	conn_fill(row, request, kernel);
	if (names)
		unix_names_noted(row, names);
	row_commit(row);
	return 0;
}
