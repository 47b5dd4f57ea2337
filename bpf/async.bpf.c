// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * File operations of io_uring, from submission to completion. Which programs are loaded depends on the
 * arguments of the kernel's tracepoints; on all but the oldest kernels both ends name the request.
 */
#define PENDINGS uring_pendings
#define REPEATS	 uring_pending_repeats

#include "iovec.bpf.h"
#include "pending.bpf.h"
#include "uring_ends.bpf.h"

#define FSYNC_DATASYNC 1

/* Reads what a request asks for after the kernel has prepared it; a read or write begins with struct io_rw. */
static __always_inline void entry_of_ready(struct io_kiocb *request, struct uring_entry *entry)
{
	__builtin_memset(entry, 0, sizeof(*entry));
	entry->opcode = READ(struct io_kiocb, request, opcode);
	switch (entry->opcode) {
	case IOTR_IOURING_FSYNC:
		entry->operation_flags = READ(struct io_sync, request, flags);
		return;
	case IOTR_IOURING_FALLOCATE:
		entry->length = READ(struct io_sync, request, mode);
		entry->offset = READ(struct io_sync, request, off);
		entry->address = READ(struct io_sync, request, len);
		return;
	}
	if (HAS_RW_FLAGS)
		entry->operation_flags = READ(struct io_rw, request, flags);
	entry->offset = READ(struct io_rw, request, kiocb.ki_pos);
	entry->address = READ(struct io_rw, request, addr);
	entry->length = READ(struct io_rw, request, len);
}

static __always_inline void uring_rw(const struct uring_entry *entry, struct pending *pending, __u64 file)
{
	pending->operation = uring_set(entry->opcode) & URING_READS ? IOTR_VFS_READ : IOTR_VFS_WRITE;
	pending->counts_bytes = 1;
	pending->flags = entry->operation_flags;
	pending->offset = entry->offset;
	if (pending->offset == IOTR_UNKNOWN && file)
		pending->offset = READ(struct file, file, f_pos);
	if (entry->opcode == IOTR_IOURING_READ_MULTISHOT)
		return; /* the kernel chooses the buffers */
	pending->size = uring_set(entry->opcode) & URING_VECTORS ? iovec_bytes(entry->address, entry->length, 0) :
								   entry->length;
	pending->unread = pending->size == IOTR_UNKNOWN;
}

static __always_inline void uring_operation(const struct uring_entry *entry, struct pending *pending, __u64 file)
{
	switch (entry->opcode) {
	case IOTR_IOURING_FSYNC:
		pending->operation = entry->operation_flags & FSYNC_DATASYNC ? IOTR_VFS_FDATASYNC : IOTR_VFS_FSYNC;
		break;
	case IOTR_IOURING_FALLOCATE:
		pending->operation = IOTR_VFS_FALLOCATE;
		pending->flag_kind = IOTR_FLAGS_FALLOCATE;
		pending->flags = entry->length;
		pending->offset = entry->offset;
		pending->size = entry->address;
		break;
	default:
		uring_rw(entry, pending, file);
	}
}

/* The open file of a request, from the request or by its descriptor; 0: not known yet. */
static __always_inline __u64 uring_file(void *ring, struct io_kiocb *request,
					struct pending *pending)
{
	__u64 file = (__u64)READ(struct io_kiocb, request, file);
	struct uring_entry entry;

	if (!HAS_REQUEST_CQE) {
		pending->has_fd = ring && !(READ(struct io_kiocb, request, flags) & IOSQE_FIXED_FILE) &&
				  uring_entry(ring, 1, &entry);
		if (pending->has_fd)
			pending->fd = entry.fd;
		return file;
	}
	if (READ(struct io_kiocb, request, flags) & IOSQE_FIXED_FILE)
		return 0; /* the kernel sets it at issue, so it is read at the end */
	pending->fd = READ(struct io_kiocb, request, cqe.fd);
	pending->has_fd = 1;
	return file_of_fd(current_task(), pending->fd);
}

/* Sessions that record any operation that the opcode may become. */
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

/* A new entry in PENDINGS; NULL: no session accepts the operation, or there is no room. */
static __always_inline struct pending *uring_new(struct iotr_control *page, __u32 opcode, __u64 key, __u64 *sessions)
{
	struct task_struct *task = current_task();
	__u32 tgid = task_tgid(task);

	if (!page || is_own(page, tgid))
		return NULL;
	*sessions = filter_begin(page, task, IOTR_VFS, uring_sessions(page, opcode), tgid);
	if (!*sessions)
		return NULL;
	if (!HAS_REQUEST_CQE) /* otherwise done for every request: see URING_BEGINS */
		pending_unended(key);
	return pending_new(key, *sessions);
}

/* Fills in what a new operation is. Returns the sessions that accept it. */
static __always_inline __u64 uring_fill(struct iotr_control *page, struct pending *pending,
					const struct uring_entry *entry, __u64 file, __u64 sessions)
{
	uring_operation(entry, pending, file);
	if (file)
		sessions = pending_wanted(page, pending, pending_file(page, pending, file, sessions));
	pending->start_ns = bpf_ktime_get_ns();
	return sessions;
}

static __always_inline int uring_submitted(void *ring, struct io_kiocb *request, __u64 key)
{
	struct iotr_control *page = control_page();
	struct uring_entry entry;
	struct pending *pending;
	__u64 file, sessions;

	pending = uring_new(page, READ(struct io_kiocb, request, opcode), key, &sessions);
	if (!pending)
		return 0;
	pending->index = uring_entry_index(READ(struct io_kiocb, request, ctx));
	file = uring_file(ring, request, pending);
	entry_of_ready(request, &entry);
	sessions = uring_fill(page, pending, &entry, file, sessions);
	pending->repeats = entry.opcode == IOTR_IOURING_READ_MULTISHOT;
	if (sessions && pending->repeats && !repeat_note(request)) {
		row_unmatched(IOTR_VFS, sessions);
		sessions = 0;
	}
	pending_keep(key, pending, sessions);
	return 0;
}

/* Begins an operation that the kernel refused before preparing it: all that is known of it is the user's entry. */
static __always_inline void uring_refused(__u64 key, const struct uring_entry *entry)
{
	struct iotr_control *page = control_page();
	struct pending *pending;
	__u64 sessions, file = 0;

	pending = uring_new(page, entry->opcode, key, &sessions);
	if (!pending)
		return;
	if (!(entry->flags & IOSQE_FIXED_FILE)) {
		pending->fd = entry->fd;
		pending->has_fd = 1;
		file = file_of_fd(current_task(), entry->fd);
	}
	pending_keep(key, pending, uring_fill(page, pending, entry, file, sessions));
}

/* The offset that an appending write went to: ki_pos is now after the bytes written. */
static __always_inline __u64 appended_at(struct io_kiocb *request, __s32 result)
{
	if (!request || result <= 0)
		return IOTR_UNKNOWN;
	return READ(struct io_rw, request, kiocb.ki_pos) - result;
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
	if (pending_appends(pending))
		pending->offset = appended_at(request, result);
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
URING_REFUSED(uring, PENDINGS, struct pending, uring_refused, pending_unended)
URING_ENDS(uring, told, uring_told_510)
URING_OVERFLOWS(uring, PENDINGS)

char LICENSE[] SEC("license") = "GPL";
