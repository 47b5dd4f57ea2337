/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File operations by io_uring: what VFS's rows of requests need, and the rows. */
#pragma once

#include "appends.bpf.h"
#include "iovec.bpf.h"
#include "uring_requests.bpf.h"

#define FSYNC_DATASYNC 1

/* Sessions that record any operation that the opcode may become. */
static __always_inline __u64 vfs_wanted(struct iotr_control *page, __u32 opcode)
{
	const __u64 *wanted = page->operation[IOTR_VFS];

	if (uring_set(opcode) & URING_READS)
		return wanted[IOTR_VFS_READ] | wanted[IOTR_VFS_DIO_READ];
	if (uring_set(opcode) & URING_WRITES)
		return wanted[IOTR_VFS_WRITE] | wanted[IOTR_VFS_DIO_WRITE];
	switch (opcode) {
	case IOTR_IOURING_FSYNC:
		return wanted[IOTR_VFS_FSYNC] | wanted[IOTR_VFS_FDATASYNC];
	case IOTR_IOURING_FALLOCATE:
		return wanted[IOTR_VFS_FALLOCATE];
	default:
		return 0;
	}
}

static __always_inline void vfs_begin_rw(struct vfs_part *vfs, const struct uring_entry *ready, __u64 file)
{
	vfs->operation = uring_set(ready->opcode) & URING_READS ? IOTR_VFS_READ : IOTR_VFS_WRITE;
	vfs->counts_bytes = 1;
	vfs->flags = ready->operation_flags;
	vfs->offset = ready->offset;
	if (vfs->offset == IOTR_UNKNOWN && file)
		vfs->offset = READ(struct file, file, f_pos);
	if (ready->opcode == IOTR_IOURING_READ_MULTISHOT)
		return; /* the kernel chooses the buffers */
	vfs->size = ready->length;
	vfs->buffer = ready->address;
	if (uring_set(ready->opcode) & URING_VECTORS) {
		vfs->size = iovec_bytes(ready->address, ready->length, 0);
		vfs->buffer = iovec_first(ready->address, ready->length, 0);
	}
	vfs->unread = vfs->size == IOTR_UNKNOWN;
}

/* Fills in the part of VFS. `file`: the open file, 0: none, or not known yet. */
static __always_inline void vfs_begin(struct vfs_part *vfs, const struct uring_entry *ready, __u64 file)
{
	*vfs = (struct vfs_part){ .size = IOTR_UNKNOWN, .offset = IOTR_UNKNOWN, .buffer = IOTR_UNKNOWN, .flag_kind = IOTR_FLAGS_FILE };
	switch (ready->opcode) {
	case IOTR_IOURING_FSYNC:
		vfs->operation = ready->operation_flags & FSYNC_DATASYNC ? IOTR_VFS_FDATASYNC : IOTR_VFS_FSYNC;
		break;
	case IOTR_IOURING_FALLOCATE:
		vfs->operation = IOTR_VFS_FALLOCATE;
		vfs->flag_kind = IOTR_FLAGS_FALLOCATE;
		vfs->flags = ready->length;
		vfs->offset = ready->offset;
		vfs->size = ready->address;
		break;
	default:
		vfs_begin_rw(vfs, ready, file);
	}
}

/* Sets the operation by how its file is open, now that this is known, and leaves the sessions that record that. */
static __always_inline void vfs_file(struct iotr_control *page, struct uring_request *request)
{
	struct vfs_part *vfs = &request->vfs;

	if (request->file.flags & O_DIRECT && vfs->operation == IOTR_VFS_READ)
		vfs->operation = IOTR_VFS_DIO_READ;
	if (request->file.flags & O_DIRECT && vfs->operation == IOTR_VFS_WRITE)
		vfs->operation = IOTR_VFS_DIO_WRITE;
	request->vfs_sessions &= page->operation[IOTR_VFS][vfs->operation & (IOTR_OPERATIONS_MAX - 1)];
}

/* Of a write that appends, where it went: ki_pos is now after the bytes written. `kernel` 0: not known. */
static __always_inline __u64 vfs_offset(const struct uring_request *request, __u64 kernel, __s32 result)
{
	__u8 operation = request->vfs.operation;

	if ((operation != IOTR_VFS_WRITE && operation != IOTR_VFS_DIO_WRITE) ||
	    !appends(&request->file, request->vfs.flags))
		return request->vfs.offset;
	if (!kernel || result <= 0)
		return IOTR_UNKNOWN;
	return READ(struct io_rw, kernel, kiocb.ki_pos) - result;
}

/* The user's buffer of direct I/O; unknown where the kernel chooses it. */
static __always_inline __u64 buffer_of(const struct uring_request *request)
{
	return request->sqe_flags & IOSQE_SELECTS ? IOTR_UNKNOWN : request->vfs.buffer;
}

static __always_inline void vfs_fill(struct iotr_vfs_record *row, const struct uring_request *request, __s32 result)
{
	const struct vfs_part *vfs = &request->vfs;

	row->file = request->file;
	row->name2 = 0;
	row->result = result;
	row->size = vfs->size;
	row->has_size = vfs->size != IOTR_UNKNOWN;
	row->address = vfs->operation >= IOTR_VFS_DIO_READ ? buffer_of(request) : IOTR_UNKNOWN;
	row->flags = vfs->flags;
	row->protection = row->mapping = row->has_mapping = 0;
	row->fd = request->fd;
	row->flag_kind = vfs->flag_kind;
	if (row->flag_kind == IOTR_FLAGS_FILE && row->file.inode == IOTR_UNKNOWN)
		row->flag_kind = IOTR_FLAGS_NONE;
	row->has_fd = !(request->sqe_flags & IOSQE_FIXED_FILE) && request->fd != FD_UNKNOWN;
	row->counts_bytes = vfs->counts_bytes;
	row->flow = request->flow;
	__builtin_memset(row->pad, 0, sizeof(row->pad));
}

/* Sessions that get the row of VFS of a completion. */
static __always_inline __u64 vfs_ends_for(struct iotr_control *page, const struct uring_request *request, __s32 result, __u64 now)
{
	__u64 sessions = request->vfs_sessions;

	if (!sessions)
		return 0;
	sessions &= page->operation[IOTR_VFS][request->vfs.operation & (IOTR_OPERATIONS_MAX - 1)];
	sessions = filter_begun(page, sessions, request->start_ns);
	if (request->file.inode == IOTR_UNKNOWN)
		sessions = filter_file(page, sessions, 0);
	return filter_end(page, sessions, now - request->start_ns, request->vfs.size, result < 0);
}

/* Fills in that row, except what row_begin() has. */
static __always_inline void vfs_row(struct iotr_vfs_record *row, const struct uring_request *request, __u64 kernel, __u64 sessions,
				    __s32 result, __u64 now)
{
	head_fill(&row->head, sessions, request->start_ns, now);
	actor_head(&row->head, &request->actor);
	row->head.unread = request->vfs.unread && result >= 0;
	vfs_fill(row, request, result);
	row->offset = vfs_offset(request, kernel, result);
}
