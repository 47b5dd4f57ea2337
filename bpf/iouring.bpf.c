// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of io_uring of any opcode, from submission to completion: a row for each completion that
 * is posted to the ring, of which a multishot request has several. What was asked for is read from the
 * submission queue entry while the kernel takes it. On the oldest kernels a completion has only the
 * ring and user_data: of several requests with the same user_data, the oldest is assumed to end first.
 */
#include "actor.bpf.h"
#include "calls.bpf.h"
#include "iovec.bpf.h"
#include "paths.bpf.h"
#include "requests.bpf.h"
#include "subtree_text.bpf.h"
#include "uring.bpf.h"

/* ---- what the fields of an entry mean ---- */

enum trait {
	FD = 1,		  /* `fd` is the descriptor that it works on */
	AT = 2,		  /* `fd` is a directory, and `address` a path relative to it */
	AT2 = 4,	  /* `length` and `offset` are a second directory and path */
	OFFSET = 8,
	POSITION = 16,	  /* without an offset it works at the file position */
	LENGTH = 32,
	VECTOR = 64,	  /* `address` is an iovec array of `length` entries */
	LENGTH_AT = 128,  /* the length is in `address` */
	LENGTH_OFF = 256, /* the length is in `offset` */
	OPENS = 512,	  /* the result is the descriptor of the opened file */
	TEXT = 1024,	  /* `address` is free text, `offset` a path relative to the directory */
	PATH3 = 2048,	  /* the path is in `address3` */
};

#define OPCODES	     256 /* numbers that an entry's opcode can have */
#define READS_WRITES (FD | OFFSET | POSITION | LENGTH)
#define VECTORED     (FD | OFFSET | POSITION | VECTOR)

static const __u16 traits[OPCODES] = {
	[IOTR_IOURING_READV] = VECTORED,
	[IOTR_IOURING_WRITEV] = VECTORED,
	[IOTR_IOURING_FSYNC] = FD | OFFSET | LENGTH,
	[IOTR_IOURING_READ_FIXED] = READS_WRITES,
	[IOTR_IOURING_WRITE_FIXED] = READS_WRITES,
	[IOTR_IOURING_POLL_ADD] = FD,
	[IOTR_IOURING_SYNC_FILE_RANGE] = FD | OFFSET | LENGTH,
	[IOTR_IOURING_SENDMSG] = FD,
	[IOTR_IOURING_RECVMSG] = FD,
	[IOTR_IOURING_ACCEPT] = FD,
	[IOTR_IOURING_CONNECT] = FD,
	[IOTR_IOURING_FALLOCATE] = FD | OFFSET | LENGTH_AT,
	[IOTR_IOURING_OPENAT] = AT | OPENS,
	[IOTR_IOURING_CLOSE] = FD,
	[IOTR_IOURING_STATX] = AT,
	[IOTR_IOURING_READ] = READS_WRITES,
	[IOTR_IOURING_WRITE] = READS_WRITES,
	[IOTR_IOURING_FADVISE] = FD | OFFSET | LENGTH,
	[IOTR_IOURING_MADVISE] = LENGTH,
	[IOTR_IOURING_SEND] = FD | LENGTH,
	[IOTR_IOURING_RECV] = FD | LENGTH,
	[IOTR_IOURING_OPENAT2] = AT | OPENS,
	[IOTR_IOURING_EPOLL_CTL] = FD,
	[IOTR_IOURING_SPLICE] = FD | OFFSET | LENGTH,
	[IOTR_IOURING_PROVIDE_BUFFERS] = LENGTH,
	[IOTR_IOURING_TEE] = FD | LENGTH,
	[IOTR_IOURING_SHUTDOWN] = FD,
	[IOTR_IOURING_RENAMEAT] = AT | AT2,
	[IOTR_IOURING_UNLINKAT] = AT,
	[IOTR_IOURING_MKDIRAT] = AT,
	[IOTR_IOURING_SYMLINKAT] = AT | TEXT,
	[IOTR_IOURING_LINKAT] = AT | AT2,
	[IOTR_IOURING_MSG_RING] = FD,
	[IOTR_IOURING_FSETXATTR] = FD | LENGTH,
	[IOTR_IOURING_SETXATTR] = PATH3 | LENGTH,
	[IOTR_IOURING_FGETXATTR] = FD | LENGTH,
	[IOTR_IOURING_GETXATTR] = PATH3 | LENGTH,
	[IOTR_IOURING_URING_CMD] = FD,
	[IOTR_IOURING_SEND_ZC] = FD | LENGTH,
	[IOTR_IOURING_SENDMSG_ZC] = FD,
	[IOTR_IOURING_READ_MULTISHOT] = READS_WRITES,
	[IOTR_IOURING_FIXED_FD_INSTALL] = FD,
	[IOTR_IOURING_FTRUNCATE] = FD | LENGTH_OFF,
	[IOTR_IOURING_BIND] = FD,
	[IOTR_IOURING_LISTEN] = FD,
	[IOTR_IOURING_RECV_ZC] = FD | LENGTH,
	[IOTR_IOURING_EPOLL_WAIT] = FD,
	[IOTR_IOURING_READV_FIXED] = VECTORED,
	[IOTR_IOURING_WRITEV_FIXED] = VECTORED,
	[IOTR_IOURING_URING_CMD128] = FD,
};

static __always_inline __u32 traits_of(__u8 opcode)
{
	__u64 index = opcode;

	asm volatile("%0 &= 255" : "+r"(index)); /* the verifier requires the bound right before the use */
	return traits[index];
}

/* ---- submission ---- */

static __always_inline __u64 length_of(const struct uring_entry *entry, __u32 what)
{
	if (what & VECTOR)
		return iovec_bytes(entry->address, entry->length,
				   abi_of(current_task()) == IOTR_ABI_COMPAT);
	if (what & LENGTH_AT)
		return entry->address;
	if (what & LENGTH_OFF)
		return entry->offset;
	return what & LENGTH ? entry->length : IOTR_UNKNOWN;
}

/* The name of a path argument; 0: none. A global function. */
__noinline __u64 path_name(__s32 directory, __u64 user)
{
	bool pseudo;

	return user ? name_of_argument(directory, user, &pseudo) : 0;
}

static __always_inline void request_paths(struct ring_request *request, const struct uring_entry *entry,
					  __u32 what)
{
	if (what & TEXT) {
		request->file.name = name_of_text(0, (void *)entry->address);
		request->name2 = path_name(entry->fd, entry->offset);
		return;
	}
	if (what & AT)
		request->file.name = path_name(entry->fd, entry->address);
	if (what & AT2)
		request->name2 = path_name(entry->length, entry->offset);
	if (what & PATH3)
		request->file.name = path_name(AT_FDCWD, entry->address3);
}

/* Sessions that accept what the paths of a request lead to. */
static __always_inline __u64 request_within(struct iotr_control *page, const struct uring_entry *entry,
					    __u32 what, __u64 sessions)
{
	__u64 within = 0, accepted;
	bool unread = false;

	if (!(sessions & page->filtered[IOTR_FILTER_PATH]) || what & FD)
		return sessions; /* a request on a descriptor is decided when its file is known */
	if (what & TEXT)
		within = path_sessions(page, entry->fd, entry->offset, &unread);
	else if (what & AT)
		within = path_sessions(page, entry->fd, entry->address, &unread);
	if (what & AT2)
		within |= path_sessions(page, entry->length, entry->offset, &unread);
	if (what & PATH3)
		within |= path_sessions(page, AT_FDCWD, entry->address3, &unread);
	accepted = filter_accepted(page, sessions, IOTR_FILTER_PATH, within);
	if (unread)
		row_unmatched(IOTR_IOURING, sessions & ~accepted);
	return accepted;
}

/* Fills in the file of a request. Returns the sessions that accept it. */
static __always_inline __u64 request_file(struct iotr_control *page, struct ring_request *request,
					  __u64 file, __u64 sessions)
{
	if (file)
		file_fill(file, &request->file);
	sessions = filter_device(page, sessions, request->file.device);
	if (traits_of(request->opcode) & FD)
		sessions = filter_file(page, sessions, file);
	if (sessions && file && !request->file.name)
		request->file.name = name_of_place(place_of_file(file));
	return sessions;
}

/* Whether the entry is a CLOSE of a file in the ring's own table. */
static __always_inline bool closes_own(const struct uring_entry *entry)
{
	return entry->opcode == IOTR_IOURING_CLOSE && entry->file_index;
}

/* The open file of an entry; 0: none, or in the ring's own table, which is read when the request ends. */
static __always_inline __u64 entry_file(struct io_kiocb *kernel, const struct uring_entry *entry,
					__u32 what)
{
	__u64 file = 0;

	if (!(what & FD))
		return 0;
	if (!HAS_REQUEST_CQE)
		file = (__u64)READ(struct io_kiocb, kernel, file);
	if (file)
		return file;
	if (entry->flags & IOSQE_FIXED_FILE || closes_own(entry))
		return 0;
	return file_of_fd(current_task(), entry->fd);
}

static __always_inline __u64 request_fill(struct iotr_control *page, struct ring_request *request,
					  struct io_kiocb *kernel, const struct uring_entry *entry,
					  __u64 sessions)
{
	__u32 what = traits_of(entry->opcode);
	__u64 file = entry_file(kernel, entry, what);

	request->opcode = entry->opcode;
	request->sqe_flags = entry->flags;
	request->user_data = entry->user_data;
	request->fd = entry->fd;
	request->has_fd = what & (FD | AT) && entry->fd != FD_UNKNOWN;
	request->opens = what & OPENS && !entry->file_index;
	if (closes_own(entry))
		request->fd = entry->file_index - 1;
	request->length = length_of(entry, what);
	request->unread = what & VECTOR && request->length == IOTR_UNKNOWN;
	if (what & OFFSET)
		request->offset = entry->offset;
	if (what & POSITION && file && request->offset == IOTR_UNKNOWN)
		request->offset = READ(struct file, file, f_pos);
	if (file)
		return request_file(page, request, file, sessions);
	sessions = request_within(page, entry, what, sessions);
	if (sessions)
		request_paths(request, entry, what);
	return sessions;
}

static __always_inline __u64 wanted(struct iotr_control *page, __u8 opcode)
{
	__u32 index = opcode < IOTR_OPERATIONS_MAX ? opcode : IOTR_OPERATIONS_MAX - 1;

	return page->operation[IOTR_IOURING][index & (IOTR_OPERATIONS_MAX - 1)];
}

static __always_inline __u64 sessions_of(struct iotr_control *page, __u8 opcode)
{
	struct task_struct *task = current_task();
	__u32 tgid = task_tgid(task);

	if (is_own(page, tgid))
		return 0;
	return filter_begin(page, task, IOTR_IOURING, wanted(page, opcode), tgid);
}

/* `tag` tells a request apart from another one under the same key. */
static __always_inline int submitted(void *ring, struct io_kiocb *kernel, __u64 key, __u32 tag,
				     const struct uring_entry *entry)
{
	struct iotr_control *page = control_page();
	struct ring_request *request;
	__u64 sessions;

	if (!page)
		return 0;
	sessions = sessions_of(page, entry->opcode);
	if (!sessions)
		return 0;
	request = request_new(key, entry->flags & IOSQE_CQE_SKIP, sessions);
	if (!request)
		return 0;
	request->tag = tag;
	request->ring = ring_number(ring);
	sessions = request_fill(page, request, kernel, entry, sessions);
	request->start_ns = bpf_ktime_get_ns();
	request->repeats = kernel && HAS_REQUEST_CQE && may_repeat(entry);
	if (sessions && request->repeats && !repeat_note(kernel)) {
		row_unmatched(IOTR_IOURING, sessions);
		sessions = 0;
	}
	request_keep(key, request, sessions);
	return 0;
}

static __always_inline int taken(struct io_kiocb *kernel)
{
	void *ring = READ(struct io_kiocb, kernel, ctx);
	struct uring_entry entry;

	entry_find(ring, kernel, READ(struct io_kiocb, kernel, cqe.user_data), &entry);
	return submitted(ring, kernel, uring_key(kernel), READ(struct io_ring_ctx, ring, cached_sq_head),
			 &entry);
}

static __always_inline int taken_510(void *ring, struct io_kiocb *kernel, __u8 opcode, __u64 user_data)
{
	struct uring_entry entry;
	struct iotr_control *page = control_page();
	__u64 sessions;

	if (READ(struct io_ring_ctx, ring, flags) & IORING_SETUP_IOPOLL) { /* has no tracepoint at its end */
		sessions = page ? sessions_of(page, opcode) : 0;
		if (sessions)
			row_unmatched(IOTR_IOURING, sessions);
		return 0;
	}
	entry_find(ring, kernel, user_data, &entry);
	return submitted(ring, kernel, request_key_free(ring, user_data), low_half((__u64)kernel),
			 &entry);
}

URING_BEGINS(ring, taken, taken_510, request_unended)

/* Requests that the kernel refuses before their submission, or while it prepares them. */
SEC("tp_btf/io_uring_req_failed")
int BPF_PROG(ring_req_failed__3, const void *sqe, struct io_kiocb *kernel)
{
	void *ring = READ(struct io_kiocb, kernel, ctx);
	__u32 head = READ(struct io_ring_ctx, ring, cached_sq_head);
	struct ring_request *request = request_find(uring_key(kernel));
	struct uring_entry entry;

	if (request && request->tag == head)
		return 0;
	request_unended(uring_key(kernel));
	if (bpf_probe_read_kernel(&entry, sizeof(entry), sqe))
		return 0;
	return submitted(ring, kernel, uring_key(kernel), head, &entry);
}

/* ---- workers ---- */

static __always_inline int queued(__u64 key)
{
	struct ring_request *request = request_find(key);

	if (request)
		request->async = 1;
	return 0;
}

SEC("tp_btf/io_uring_queue_async_work")
int BPF_PROG(ring_async__2, struct io_kiocb *kernel)
{
	return queued(uring_key(kernel));
}

SEC("tp_btf/io_uring_queue_async_work")
int BPF_PROG(ring_async__5, void *ring, int rw, struct io_kiocb *kernel)
{
	return queued(request_key_tagged(ring, READ(struct io_kiocb___510, kernel, user_data),
					 low_half((__u64)kernel)));
}

/* ---- completion ---- */

static __always_inline void emit(struct iotr_control *page, const struct ring_request *request,
				 __s32 result)
{
	__u64 now = bpf_ktime_get_ns(), sessions = request->sessions & wanted(page, request->opcode);
	struct iotr_iouring_record *row;

	sessions = filter_begun(page, sessions, request->start_ns);
	sessions = filter_end(page, sessions, now - request->start_ns, request->length, result < 0);
	if (!sessions)
		return;
	row = row_begin(IOTR_IOURING, sizeof(*row), sessions);
	if (!row)
		return;
	__builtin_memset(row, 0, sizeof(*row));
	head_fill(&row->head, sizeof(*row), IOTR_IOURING, request->opcode, sessions,
		  request->start_ns, now);
	actor_head(&row->head, &request->actor);
	row->head.unread = request->unread && result >= 0;
	row->file = request->file;
	row->file.name = name_told(request->file.name, result);
	row->name2 = name_told(request->name2, result);
	row->offset = request->offset;
	row->length = request->length;
	row->user_data = request->user_data;
	row->ring = request->ring;
	row->result = result;
	row->fd = request->fd;
	row->has_fd = request->has_fd;
	row->sqe_flags = request->sqe_flags;
	row->async = request->async;
	row_commit(row);
}

/* The open file of a request whose file was not known at the start; 0: none. */
static __always_inline __u64 file_at_end(struct io_kiocb *kernel, const struct ring_request *request,
					 __s32 result)
{
	if (request->opens)
		return result < 0 ? 0 : file_of_fd(current_task(), result);
	if (!kernel || !(traits_of(request->opcode) & FD))
		return 0;
	return (__u64)READ(struct io_kiocb, kernel, file);
}

static __always_inline int completed(struct io_kiocb *kernel, __u64 key, __s32 result, bool last)
{
	struct iotr_control *page = control_page();
	struct ring_request *request = request_find(key);

	if (!page || !request)
		return 0;
	if (request->file.inode == IOTR_UNKNOWN)
		request->sessions = request_file(page, request, file_at_end(kernel, request, result),
						 request->sessions);
	emit(page, request, result);
	if (!last)
		return 0;
	if (kernel && request->repeats)
		repeat_forget(kernel);
	request_forget(key, request);
	return 0;
}

static __always_inline int told_510(void *ring, __u64 user_data, __s32 result, __u32 flags)
{
	__u64 key = request_key_oldest(ring, user_data);
	struct uring_entry entry;

	if (!key && uring_entry_refused(ring, user_data, result, &entry)) {
		key = request_key_free(ring, user_data);
		submitted(ring, NULL, key, 0, &entry);
	}
	return completed(NULL, key, result, !(flags & CQE_MORE));
}

URING_ENDS(ring, told, told_510)
URING_OVERFLOWS(ring, ring_requests)

/* ---- rings ---- */

SEC("tp_btf/io_uring_create")
int BPF_PROG(ring_create, int fd, void *ring)
{
	ring_count((__u64)ring);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
