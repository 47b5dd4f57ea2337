// SPDX-License-Identifier: GPL-2.0-or-later
/* The life of sockets by io_uring, from submission to completion; see async.bpf.c. */
#define REPEATS conn_repeats

#include "actor.bpf.h"
#include "conn_row.bpf.h"
#include "uring_ends.bpf.h"

struct conn_request {
	struct actor actor;
	struct noted noted; /* sock 0: a file in the ring's own table, known at the end */
	__u64 sessions;
	__u64 start_ns;
	__u64 address; /* user address of the socket address, of BIND and CONNECT */
	__u32 length;  /* bytes of the socket address */
	__s32 fd;
	__s32 domain, type, protocol; /* of SOCKET */
	__s32 argument; /* `backlog` of LISTEN, `how` of SHUTDOWN */
	__u8 operation;
	__u8 makes; /* its result is a descriptor */
	__u8 hides; /* its result is no descriptor: the new file is put into the ring's own table */
	__u8 repeats; /* has several completions */
	__u16 index; /* number of the ring's entry, see uring_entry_index() */
	struct unix_names names; /* of a Unix socket that is closed */
};

HASH_OF(conn_requests, HASH, __u64, struct conn_request, IOTR_URING);
ARRAY_OF(conn_request_blank, struct conn_request, 1, 0);

static __always_inline int operation_of(__u8 opcode)
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

/* ---- submission ---- */

static __always_inline void request_unended(__u64 key)
{
	END_UNSEEN(IOTR_CONN, conn_requests, struct conn_request, key);
}

/* The entry for a new request; NULL: there is no room, which is counted as a loss. */
static __always_inline struct conn_request *request_new(__u64 key, __u64 sessions)
{
	struct conn_request *blank;
	__u32 zero = 0;

	if (!HAS_REQUEST_CQE) /* otherwise done for every request: see URING_BEGINS */
		request_unended(key);
	blank = bpf_map_lookup_elem(&conn_request_blank, &zero);
	if (!blank || bpf_map_update_elem(&conn_requests, &key, blank, BPF_ANY)) {
		row_unmatched(IOTR_CONN, sessions);
		return NULL;
	}
	return bpf_map_lookup_elem(&conn_requests, &key);
}

static __always_inline void note_socket(struct conn_request *request, const struct uring_entry *entry)
{
	struct noted *noted = &request->noted;

	if (request->operation == IOTR_CONN_SOCKET_CREATE || entry->flags & IOSQE_FIXED_FILE)
		return;
	noted->sock = sock_of_fd(entry->fd);
	if (!noted->sock)
		return;
	socket_fill(&noted->socket, noted->sock);
	if (request->operation == IOTR_CONN_CLOSE && noted->socket.family == AF_UNIX)
		unix_names_note(&request->names, noted->sock);
}

static __always_inline void note_entry(struct conn_request *request, const struct uring_entry *entry)
{
	request->fd = entry->fd;
	switch (request->operation) {
	case IOTR_CONN_SOCKET_CREATE:
		request->domain = entry->fd;
		request->type = entry->offset & SOCK_TYPE_MASK;
		request->protocol = entry->length;
		/* fall through */
	case IOTR_CONN_ACCEPT:
		request->makes = true;
		request->hides = entry->file_index != 0;
		break;
	case IOTR_CONN_BIND:
	case IOTR_CONN_CONNECT:
		request->address = entry->address;
		request->length = entry->offset;
		break;
	default:
		request->argument = entry->length;
	}
}

/* Begins a request; NULL: no session accepts it, or there is no room. */
static __always_inline struct conn_request *submitted(__u64 key, const struct uring_entry *entry)
{
	int operation = operation_of(entry->opcode);
	struct iotr_control *page = control_page();
	struct task_struct *task = current_task();
	__u32 tgid = task_tgid(task);
	struct conn_request *request;
	__u64 sessions;

	if (!page || operation < 0 || is_own(page, tgid))
		return NULL;
	sessions = page->operation[IOTR_CONN][operation & (IOTR_OPERATIONS_MAX - 1)];
	sessions = filter_fileless(page, sessions);
	sessions = sessions ? filter_begin(page, task, IOTR_CONN, sessions, tgid) : 0;
	if (!sessions)
		return NULL;
	request = request_new(key, sessions);
	if (!request)
		return NULL;
	request->operation = operation;
	actor_current(&request->actor);
	note_entry(request, entry);
	note_socket(request, entry);
	if (operation == IOTR_CONN_CLOSE && (!request->noted.sock || entry->file_index)) {
		bpf_map_delete_elem(&conn_requests, &key);
		return NULL;
	}
	request->sessions = sessions;
	request->start_ns = bpf_ktime_get_ns();
	return request;
}

static __always_inline int taken(struct io_kiocb *kernel)
{
	void *ring = READ(struct io_kiocb, kernel, ctx);
	struct conn_request *request;
	struct uring_entry entry;

	if (operation_of(READ(struct io_kiocb, kernel, opcode)) < 0)
		return 0;
	entry_find(ring, kernel, READ(struct io_kiocb, kernel, cqe.user_data), &entry);
	request = submitted(uring_key(kernel), &entry);
	if (!request)
		return 0;
	request->index = uring_entry_index(ring);
	if (!may_repeat(&entry))
		return 0;
	request->repeats = true;
	if (!repeat_note(kernel))
		row_unmatched(IOTR_CONN, request->sessions);
	return 0;
}

static __always_inline int taken_510(void *ring, struct io_kiocb *kernel, __u8 opcode, __u64 user_data)
{
	struct uring_entry entry;

	if (operation_of(opcode) < 0)
		return 0;
	entry_find(ring, kernel, user_data, &entry);
	submitted(uring_key_510(ring, user_data), &entry);
	return 0;
}

URING_BEGINS(conn, taken, taken_510, request_unended)

/* ---- completion ---- */

/* The struct sock that a row is about, at the end of the request; 0: it cannot be found. `kernel` may be NULL. */
static __always_inline __u64 socket_now(const struct conn_request *request, struct io_kiocb *kernel,
					__s32 result)
{
	bool own = bpf_get_current_pid_tgid() >> 32 == request->actor.pid;
	__u64 sock = request->noted.sock;

	if (request->makes && result >= 0)
		return own && !request->hides ? sock_of_fd(result) : 0;
	if (request->operation == IOTR_CONN_SOCKET_CREATE || request->operation == IOTR_CONN_CLOSE)
		return 0;
	if (kernel)
		return sock_of_file((__u64)READ(struct io_kiocb, kernel, file));
	return own && sock_of_fd(request->fd) == sock ? sock : 0;
}

/* A request that failed has set no address; the row gets the one that was asked for. */
static __always_inline void asked_fill(struct iotr_conn_record *row, const struct conn_request *request)
{
	struct iotr_socket *socket = &row->socket;
	bool own = bpf_get_current_pid_tgid() >> 32 == request->actor.pid;

	if (row->result >= 0 || !own || !is_ip(socket->family))
		return;
	if (request->operation == IOTR_CONN_BIND)
		end_fill(socket, socket->local, &socket->local_port, request->address, request->length);
	else if (request->operation == IOTR_CONN_CONNECT)
		end_fill(socket, socket->remote, &socket->remote_port, request->address, request->length);
}

static __always_inline void fd_fill(struct iotr_conn_record *row, const struct conn_request *request,
				    bool fixed)
{
	row->fd = request->makes ? row->result : request->fd;
	row->has_fd = request->makes ? row->result >= 0 && !request->hides : !fixed;
}

static __always_inline void conn_fill(struct iotr_conn_record *row, const struct conn_request *request,
				      struct io_kiocb *kernel)
{
	__u64 sock = socket_now(request, kernel, row->result);

	if (sock)
		socket_fill(&row->socket, sock);
	if (!sock || (request->noted.socket.local_port && !row->socket.local_port))
		row->socket = request->noted.socket;
	fd_fill(row, request, kernel && !request->noted.sock && sock);
	if (sock)
		unix_names_fill(row, sock);
	asked_fill(row, request);
	if (row->socket.family)
		socket_kind(row);
	if (request->operation == IOTR_CONN_SOCKET_CREATE &&
	    (!row->socket.family || !is_ip(row->socket.family))) {
		row->has_socket = true;
		row->domain = request->domain;
		row->type = request->type;
		row->protocol = request->protocol;
	}
	if (request->operation == IOTR_CONN_CLOSE)
		unix_names_noted(row, &request->names);
}

static __always_inline void emit(const struct conn_request *request, struct io_kiocb *kernel, __s32 result)
{
	struct iotr_control *page = control_page();
	__u64 now = bpf_ktime_get_ns(), sessions = request->sessions;
	struct iotr_conn_record *row;

	if (!page)
		return;
	sessions &= page->operation[IOTR_CONN][request->operation & (IOTR_OPERATIONS_MAX - 1)];
	sessions = filter_begun(page, sessions, request->start_ns);
	sessions = filter_end(page, sessions, now - request->start_ns, IOTR_UNKNOWN, result < 0);
	if (!sessions)
		return;
	row = row_begin(IOTR_CONN, sizeof(*row), sessions);
	if (!row)
		return;
	head_fill(&row->head, sizeof(*row), IOTR_CONN, request->operation, sessions, request->start_ns, now);
	actor_head(&row->head, &request->actor);
	__builtin_memset(rest(row), 0, sizeof(*row) - sizeof(row->head));
	row->result = result;
	row->argument = request->argument;
	conn_fill(row, request, kernel);
	row_commit(row);
}

static __always_inline int completed(struct io_kiocb *kernel, __u64 key, __s32 result, bool last)
{
	struct conn_request *request = bpf_map_lookup_elem(&conn_requests, &key);

	if (!request)
		return 0;
	emit(request, kernel, result);
	if (!last)
		return 0;
	if (kernel && request->repeats)
		repeat_forget(kernel);
	bpf_map_delete_elem(&conn_requests, &key);
	return 0;
}

URING_REFUSED(conn, conn_requests, struct conn_request, submitted, request_unended)
URING_ENDS(conn, told, conn_told_510)
URING_OVERFLOWS(conn, conn_requests)

char LICENSE[] SEC("license") = "GPL";
