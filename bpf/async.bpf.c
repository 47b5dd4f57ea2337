// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * File operations of io_uring, from submission to completion. Which program fits depends on the
 * arguments of the kernel's tracepoints; all but the oldest know the request at both ends.
 */
#define PENDINGS uring_pendings
#define REPEATS	 uring_pending_repeats

#include "iovec.bpf.h"
#include "pending.bpf.h"
#include "uring_ends.bpf.h"

#define FSYNC_DATASYNC 1

/* What the request of a read or write asks for; struct io_rw lies at its beginning. */
static __always_inline void uring_rw(struct io_kiocb *request, struct pending *pending, __u32 opcode,
				     __u64 file)
{
	__u32 length = READ(struct io_rw, request, len);

	pending->counts_bytes = 1;
	if (bpf_core_field_exists(struct io_rw, flags)) /* since 584b0180f0f4, v5.19 */
		pending->flags = READ(struct io_rw, request, flags);
	pending->offset = READ(struct io_rw, request, kiocb.ki_pos);
	if (pending->offset == IOTR_UNKNOWN && file)
		pending->offset = READ(struct file, file, f_pos);
	if (opcode == IOTR_IOURING_READ_MULTISHOT)
		return; /* the kernel chooses the buffers */
	pending->size = uring_set(opcode) & URING_VECTORS ?
				iovec_bytes(READ(struct io_rw, request, addr), length, 0) :
				length;
}

static __always_inline void uring_operation(struct io_kiocb *request, struct pending *pending,
					    __u32 opcode, __u64 file)
{
	if (uring_set(opcode) & (URING_READS | URING_WRITES)) {
		pending->operation = uring_set(opcode) & URING_READS ? IOTR_VFS_READ : IOTR_VFS_WRITE;
		uring_rw(request, pending, opcode, file);
		return;
	}
	switch (opcode) {
	case IOTR_IOURING_FSYNC:
		pending->operation = READ(struct io_sync, request, flags) & FSYNC_DATASYNC ?
					     IOTR_VFS_FDATASYNC :
					     IOTR_VFS_FSYNC;
		break;
	case IOTR_IOURING_FALLOCATE:
		pending->operation = IOTR_VFS_FALLOCATE;
		pending->flag_kind = IOTR_FLAGS_FALLOCATE;
		pending->flags = READ(struct io_sync, request, mode);
		pending->offset = READ(struct io_sync, request, off);
		pending->size = READ(struct io_sync, request, len);
		break;
	}
}

/* The file, where the request knows it already, or its descriptor tells. */
static __always_inline __u64 uring_file(void *ring, struct io_kiocb *request,
					struct pending *pending)
{
	__u64 file = (__u64)READ(struct io_kiocb, request, file);
	struct uring_entry entry;

	if (!bpf_core_field_exists(struct io_kiocb, cqe)) {
		pending->has_fd = ring && !(READ(struct io_kiocb, request, flags) & IOSQE_FIXED_FILE) &&
				  uring_entry(ring, 1, &entry);
		if (pending->has_fd)
			pending->fd = entry.fd;
		return file;
	}
	if (READ(struct io_kiocb, request, flags) & IOSQE_FIXED_FILE)
		return 0; /* set when it is issued: looked up at its end */
	pending->fd = READ(struct io_kiocb, request, cqe.fd);
	pending->has_fd = 1;
	return file_of_fd(current_task(), pending->fd);
}

/* Sessions that want an operation that the opcode may be. */
static __always_inline __u64 uring_sessions(struct iotr_control *page, __u32 opcode)
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

static __always_inline int uring_submitted(void *ring, struct io_kiocb *request, __u64 key)
{
	struct iotr_control *page = control_page();
	struct task_struct *task = current_task();
	__u32 tgid = task_tgid(task);
	struct pending *pending;
	__u64 file, sessions;

	if (!page || tgid == page->own_tgid)
		return 0;
	sessions = filter_begin(page, task, IOTR_VFS,
				uring_sessions(page, READ(struct io_kiocb, request, opcode)), tgid);
	if (!sessions)
		return 0;
	pending = pending_new(key, sessions);
	if (!pending)
		return 0;
	file = uring_file(ring, request, pending);
	uring_operation(request, pending, READ(struct io_kiocb, request, opcode), file);
	if (file)
		sessions = pending_wanted(page, pending, pending_file(page, pending, file, sessions));
	pending->start_ns = bpf_ktime_get_ns();
	pending->repeats = READ(struct io_kiocb, request, opcode) == IOTR_IOURING_READ_MULTISHOT;
	if (sessions && pending->repeats && !repeat_note(request)) {
		row_unmatched(IOTR_VFS, sessions);
		sessions = 0;
	}
	pending_keep(key, pending, sessions);
	return 0;
}

static __always_inline int completed(struct io_kiocb *request, __u64 key, __s32 result, bool last)
{
	struct iotr_control *page = control_page();
	struct pending *pending = bpf_map_lookup_elem(&PENDINGS, &key);
	__u64 file;

	if (!page || !pending)
		return 0;
	if (request && pending->file.inode == IOTR_UNKNOWN) {
		file = (__u64)READ(struct io_kiocb, request, file);
		if (file)
			pending->sessions = pending_file(page, pending, file, pending->sessions);
	}
	pending_emit(page, pending, result);
	if (!last)
		return 0;
	if (request && pending->repeats)
		repeat_forget(request);
	bpf_map_delete_elem(&PENDINGS, &key);
	return 0;
}

static __always_inline int taken(struct io_kiocb *request)
{
	return uring_submitted(NULL, request, uring_key(request));
}

static __always_inline int taken_510(void *ring, struct io_kiocb *request, __u8 opcode, __u64 user_data)
{
	return uring_submitted(ring, request, uring_key_510(ring, user_data));
}

URING_BEGINS(uring, taken, taken_510, pending_unended)
URING_ENDS(uring, told, told_by_number)
URING_OVERFLOWS(uring, PENDINGS)

char LICENSE[] SEC("license") = "GPL";
