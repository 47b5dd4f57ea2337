/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of io_uring of any opcode: what IOURING's rows need, and the rows. */
#pragma once

#include "calls.bpf.h"
#include "iovec.bpf.h"
#include "paths.bpf.h"
#include "subtree_text.bpf.h"
#include "uring_requests.bpf.h"

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

#define URING_AT_FOLLOW 0x400 /* AT_SYMLINK_FOLLOW, of LINKAT */

/* Whether a request follows a symbolic link at the end of its path; at that of a second one none does. */
static __always_inline bool path_followed(const struct uring_entry *entry)
{
	switch (entry->opcode) {
	case IOTR_IOURING_UNLINKAT:
	case IOTR_IOURING_RENAMEAT:
	case IOTR_IOURING_MKDIRAT:
	case IOTR_IOURING_SYMLINKAT:
		return false;
	case IOTR_IOURING_LINKAT:
		return entry->operation_flags & URING_AT_FOLLOW;
	default:
		return true;
	}
}

/* The name of a path argument; 0: none. A global function. */
__noinline __u64 path_name(__s32 directory, __u64 user, __u32 follow)
{
	bool pseudo;

	return user ? name_of_argument(directory, user, follow, &pseudo) : 0;
}

static __always_inline void iouring_paths(struct uring_request *request, const struct uring_entry *entry, __u32 what)
{
	if (what & TEXT) {
		request->file.name = name_of_text(0, entry->address);
		request->iouring.name2 = path_name(entry->fd, entry->offset, false);
		return;
	}
	if (what & AT)
		request->file.name = path_name(entry->fd, entry->address, path_followed(entry));
	if (what & AT2)
		request->iouring.name2 = path_name(entry->length, entry->offset, false);
	if (what & PATH3)
		request->file.name = path_name(AT_FDCWD, entry->address3, true);
}

/* Sessions that accept what the paths of a request lead to. */
static __always_inline __u64 iouring_within(struct iotr_control *page, const struct uring_entry *entry, __u32 what,
					    __u64 sessions)
{
	__u64 within = 0, accepted;
	bool unread = false;

	if (!(sessions & page->filtered[IOTR_FILTER_PATH]) || what & FD)
		return sessions; /* a request on a descriptor is decided when its file is known */
	if (what & TEXT)
		within = path_sessions(page, entry->fd, entry->offset, false, &unread);
	else if (what & AT)
		within = path_sessions(page, entry->fd, entry->address, path_followed(entry), &unread);
	if (what & AT2)
		within |= path_sessions(page, entry->length, entry->offset, false, &unread);
	if (what & PATH3)
		within |= path_sessions(page, AT_FDCWD, entry->address3, true, &unread);
	accepted = filter_accepted(page, sessions, IOTR_FILTER_PATH, within);
	if (unread)
		row_unmatched(IOTR_IOURING, sessions & ~accepted);
	return accepted;
}

static __always_inline __u64 iouring_wanted(struct iotr_control *page, __u8 opcode)
{
	__u32 index = opcode < IOTR_OPERATIONS_MAX ? opcode : IOTR_OPERATIONS_MAX - 1;

	return page->operation[IOTR_IOURING][index & (IOTR_OPERATIONS_MAX - 1)];
}

/* Whether the entry is a CLOSE of a file in the ring's own table. */
static __always_inline bool closes_own(const struct uring_entry *entry)
{
	return entry->opcode == IOTR_IOURING_CLOSE && entry->file_index;
}

/* Fills in the part of IOURING. `file`: the open file, 0: none, or not known yet. */
static __always_inline void iouring_begin(struct uring_request *request, void *ring, const struct uring_entry *entry,
					  __u64 file)
{
	struct iouring_part *part = &request->iouring;
	__u32 what = traits_of(entry->opcode);

	__builtin_memset(part, 0, sizeof(*part));
	part->ring = ring_number(ring);
	part->user_data = entry->user_data;
	part->has_fd = what & (FD | AT) && entry->fd != FD_UNKNOWN;
	part->opens = what & OPENS && !entry->file_index;
	if (closes_own(entry))
		request->fd = entry->file_index - 1;
	part->length = length_of(entry, what);
	part->unread = what & VECTOR && part->length == IOTR_UNKNOWN;
	part->offset = what & OFFSET ? entry->offset : IOTR_UNKNOWN;
	if (what & POSITION && file && part->offset == IOTR_UNKNOWN)
		part->offset = READ(struct file, file, f_pos);
}

/* Reads the paths of a request that names no open file, and applies the filters by them. */
static __always_inline void iouring_named(struct iotr_control *page, struct uring_request *request,
					  const struct uring_entry *entry)
{
	__u32 what = traits_of(entry->opcode);

	request->iouring_sessions = iouring_within(page, entry, what, request->iouring_sessions);
	if (request->iouring_sessions)
		iouring_paths(request, entry, what);
}

static __always_inline void iouring_fill(struct iotr_iouring_record *row, const struct uring_request *request,
					 __s32 result)
{
	const struct iouring_part *part = &request->iouring;

	row->file = request->file;
	row->file.name = name_told(request->file.name, result);
	row->name2 = name_told(part->name2, result);
	row->offset = part->offset;
	row->length = part->length;
	row->user_data = part->user_data;
	row->ring = part->ring;
	row->result = result;
	row->fd = request->fd;
	row->has_fd = part->has_fd;
	row->sqe_flags = request->sqe_flags;
	row->async = part->async;
	row->flow = request->flow;
	__builtin_memset(row->pad, 0, sizeof(row->pad));
}

/* Sessions that get the row of IOURING of a completion. */
static __always_inline __u64 iouring_ends_for(struct iotr_control *page, const struct uring_request *request, __s32 result, __u64 now)
{
	__u64 sessions = request->iouring_sessions;

	if (!sessions)
		return 0;
	sessions = filter_begun(page, sessions & iouring_wanted(page, request->opcode), request->start_ns);
	return filter_end(page, sessions, now - request->start_ns, request->iouring.length, result < 0);
}

/* Fills in that row, except what row_begin() has. */
static __always_inline void iouring_row(struct iotr_iouring_record *row, const struct uring_request *request, __u64 sessions,
					__s32 result, __u64 now)
{
	head_fill(&row->head, sessions, request->start_ns, now);
	actor_head(&row->head, &request->actor);
	row->head.unread = request->iouring.unread && result >= 0;
	iouring_fill(row, request, result);
}
