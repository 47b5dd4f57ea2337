/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File operations that outlive the call that began them: of libaio and io_uring. What the row
 * says is noted when they are submitted; the row is written when their result is seen.
 */
#pragma once

#include "actor.bpf.h"
#include "files.bpf.h"

struct pending {
	struct actor actor;
	__u64 sessions;
	__u64 start_ns;
	struct iotr_file file;
	__u64 size;
	__u64 offset;
	__u32 flags;
	__s32 fd;
	__u8 operation;
	__u8 flag_kind;
	__u8 has_fd;
	__u8 counts_bytes;
	__u32 index; /* which of several submitted together */
};

HASH_OF(pendings, HASH, __u64, struct pending, IOTR_ASYNC);

#define O_DIRECT 040000

/* The file that an operation works on. Returns the sessions that want it. */
static __always_inline __u64 pending_file(struct iotr_control *page, struct pending *pending,
					  __u64 file, __u64 sessions)
{
	if (file_fill(file, &pending->file))
		sessions &= page->pseudo_fs;
	if (pending->file.flags & O_DIRECT) {
		if (pending->operation == IOTR_VFS_READ)
			pending->operation = IOTR_VFS_DIO_READ;
		if (pending->operation == IOTR_VFS_WRITE)
			pending->operation = IOTR_VFS_DIO_WRITE;
	}
	sessions = filter_device(page, sessions, pending->file.device);
	if (sessions)
		pending->file.name = name_of_place(place_of_file(file));
	return sessions;
}

static __always_inline __u64 pending_wanted(struct iotr_control *page, const struct pending *pending,
					    __u64 sessions)
{
	return sessions & page->operation[IOTR_VFS][pending->operation & (IOTR_OPERATIONS_MAX - 1)];
}

/* Notes an operation; one that is there under the same key was never seen to end. */
static __always_inline void pending_add(__u64 key, const struct pending *pending)
{
	struct pending *old = bpf_map_lookup_elem(&pendings, &key);

	if (old)
		row_unmatched(IOTR_VFS, old->sessions);
	if (bpf_map_update_elem(&pendings, &key, pending, BPF_ANY))
		row_unmatched(IOTR_VFS, pending->sessions);
}

/* Writes the row of an operation that ended. */
static __always_inline void pending_emit(struct iotr_control *page, const struct pending *pending,
					 __s64 result)
{
	__u64 now = bpf_ktime_get_ns(), sessions = pending_wanted(page, pending, pending->sessions);
	struct iotr_vfs_record *row;

	sessions = filter_end(page, sessions, now - pending->start_ns, pending->size, result < 0);
	if (!sessions)
		return;
	row = row_begin(IOTR_VFS, sizeof(*row), sessions);
	if (!row)
		return;
	__builtin_memset(row, 0, sizeof(*row));
	head_fill(&row->head, sizeof(*row), IOTR_VFS, pending->operation, sessions,
		  pending->start_ns, now);
	actor_head(&row->head, &pending->actor);
	row->file = pending->file;
	row->result = result;
	row->size = pending->size;
	row->offset = pending->offset;
	row->address = IOTR_UNKNOWN;
	row->flags = pending->flags;
	row->fd = pending->fd;
	row->flag_kind = pending->flag_kind;
	row->has_fd = pending->has_fd;
	row->counts_bytes = pending->counts_bytes;
	row_commit(row);
}
