/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File operations of libaio, which go on after the call that submitted them. What the row says is saved at
 * submission; the row is written when the result is seen.
 */
#pragma once

#include "actor.bpf.h"
#include "appends.bpf.h"
#include "files.bpf.h"
#include "subtree.bpf.h"

struct aio_request {
	struct actor actor;
	__u64 sessions;
	__u64 start_ns;
	__u64 flow; /* operations of one io_submit have one: what each has caused is not known */
	__u64 position; /* of its ring, when it was submitted; IOTR_UNKNOWN: that cannot be read */
	struct iotr_file file;
	__u64 size;
	__u64 offset;
	__u64 buffer; /* of a vector the first one; IOTR_UNKNOWN: none */
	__u32 flags;
	__s32 fd;
	__u8 operation;
	__u8 flag_kind;
	__u8 has_fd;
	__u8 counts_bytes;
	__u16 index; /* within its io_submit */
	__u8 unread; /* its size could not be read */
};

HASH_OF(aio_requests, HASH, __u64, struct aio_request, IOTR_ASYNC);

static __always_inline bool aio_request_appends(const struct aio_request *request)
{
	return (request->operation == IOTR_VFS_WRITE || request->operation == IOTR_VFS_DIO_WRITE) &&
	       appends(&request->file, request->flags);
}

static __always_inline bool is_direct(__u8 operation)
{
	return operation == IOTR_VFS_DIO_READ || operation == IOTR_VFS_DIO_WRITE;
}

/* Fills in the open file that an operation works on, 0: none. Returns the sessions that accept it. */
static __always_inline __u64 aio_request_file(struct iotr_control *page, struct aio_request *request,
					  __u64 file, __u64 sessions)
{
	struct place place = {};

	if (file && file_fill_apart(file, &request->file, &place))
		sessions &= page->pseudo_fs;
	if (request->file.flags & O_DIRECT) {
		if (request->operation == IOTR_VFS_READ)
			request->operation = IOTR_VFS_DIO_READ;
		if (request->operation == IOTR_VFS_WRITE)
			request->operation = IOTR_VFS_DIO_WRITE;
	}
	sessions = filter_device(page, sessions, request->file.device);
	sessions = filter_file(page, sessions, file);
	if (sessions && file)
		request->file.name = name_of_place(place);
	return sessions;
}

static __always_inline __u64 aio_request_wanted(struct iotr_control *page, const struct aio_request *request,
					    __u64 sessions)
{
	return sessions & page->operation[IOTR_VFS][request->operation & (IOTR_OPERATIONS_MAX - 1)];
}

ARRAY_OF(aio_request_blank, struct aio_request, 1, 0);

static __always_inline void aio_request_unended(__u64 key)
{
	END_UNSEEN(IOTR_VFS, aio_requests, struct aio_request, key);
}

/*
 * A new entry in aio_requests, to be filled in there, as it is too large for the stack. NULL: there is no room,
 * which is counted as a loss.
 */
static __always_inline struct aio_request *aio_request_new(__u64 key, __u64 sessions)
{
	struct aio_request *request, *blank;
	__u32 zero = 0;

	blank = bpf_map_lookup_elem(&aio_request_blank, &zero);
	if (!blank || bpf_map_update_elem(&aio_requests, &key, blank, BPF_ANY)) {
		row_unmatched(IOTR_VFS, sessions);
		return NULL;
	}
	request = bpf_map_lookup_elem(&aio_requests, &key);
	if (!request)
		return NULL;
	request->file.inode = IOTR_UNKNOWN;
	request->size = request->offset = request->buffer = IOTR_UNKNOWN;
	request->flag_kind = IOTR_FLAGS_FILE;
	actor_current(&request->actor);
	return request;
}

/* Sets the sessions of a new operation, and drops it if there are none. */
static __always_inline void aio_request_keep(__u64 key, struct aio_request *request, __u64 sessions)
{
	request->sessions = sessions;
	if (!request->sessions)
		bpf_map_delete_elem(&aio_requests, &key);
}

/* Writes the row of an operation that ended. */
static __always_inline void aio_request_emit(struct iotr_control *page, const struct aio_request *request,
					 __s64 result)
{
	__u64 now = bpf_ktime_get_ns(), sessions = aio_request_wanted(page, request, request->sessions);
	struct iotr_vfs_record *row;

	sessions = filter_begun(page, sessions, request->start_ns);
	if (request->file.inode == IOTR_UNKNOWN)
		sessions = filter_file(page, sessions, 0);
	sessions = filter_end(page, sessions, now - request->start_ns, request->size, result < 0);
	if (!sessions)
		return;
	row = row_begin(IOTR_VFS, request->operation, sizeof(*row), sessions);
	if (!row)
		return;
	row_clear(row, sizeof(*row));
	head_fill(&row->head, sessions, request->start_ns, now);
	actor_head(&row->head, &request->actor);
	row->head.unread = request->unread && result >= 0;
	row->file = request->file;
	row->result = result;
	row->size = request->size;
	row->has_size = request->size != IOTR_UNKNOWN;
	row->offset = request->offset;
	row->address = is_direct(request->operation) ? request->buffer : IOTR_UNKNOWN;
	row->flags = request->flags;
	row->fd = request->fd;
	row->flag_kind = request->flag_kind;
	if (row->flag_kind == IOTR_FLAGS_FILE && request->file.inode == IOTR_UNKNOWN)
		row->flag_kind = IOTR_FLAGS_NONE;
	row->has_fd = request->has_fd;
	row->counts_bytes = request->counts_bytes;
	row->flow = request->flow;
	row_commit(row);
}
