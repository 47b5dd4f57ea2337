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
	__u16 index; /* within its io_submit */
	__u8 unread; /* its size could not be read */
};

HASH_OF(aio_pendings, HASH, __u64, struct pending, IOTR_ASYNC);

static __always_inline bool pending_appends(const struct pending *pending)
{
	return (pending->operation == IOTR_VFS_WRITE || pending->operation == IOTR_VFS_DIO_WRITE) &&
	       appends(&pending->file, pending->flags);
}

/* Fills in the open file that an operation works on, 0: none. Returns the sessions that accept it. */
static __always_inline __u64 pending_file(struct iotr_control *page, struct pending *pending,
					  __u64 file, __u64 sessions)
{
	if (file && file_fill(file, &pending->file))
		sessions &= page->pseudo_fs;
	if (pending->file.flags & O_DIRECT) {
		if (pending->operation == IOTR_VFS_READ)
			pending->operation = IOTR_VFS_DIO_READ;
		if (pending->operation == IOTR_VFS_WRITE)
			pending->operation = IOTR_VFS_DIO_WRITE;
	}
	sessions = filter_device(page, sessions, pending->file.device);
	sessions = filter_file(page, sessions, file);
	if (sessions && file)
		pending->file.name = name_of_place(place_of_file(file));
	return sessions;
}

static __always_inline __u64 pending_wanted(struct iotr_control *page, const struct pending *pending,
					    __u64 sessions)
{
	return sessions & page->operation[IOTR_VFS][pending->operation & (IOTR_OPERATIONS_MAX - 1)];
}

ARRAY_OF(pending_blank, struct pending, 1, 0);

static __always_inline void pending_unended(__u64 key)
{
	END_UNSEEN(IOTR_VFS, aio_pendings, struct pending, key);
}

/*
 * A new entry in aio_pendings, to be filled in there, as it is too large for the stack. NULL: there is no room,
 * which is counted as a loss.
 */
static __always_inline struct pending *pending_new(__u64 key, __u64 sessions)
{
	struct pending *pending, *blank;
	__u32 zero = 0;

	blank = bpf_map_lookup_elem(&pending_blank, &zero);
	if (!blank || bpf_map_update_elem(&aio_pendings, &key, blank, BPF_ANY)) {
		row_unmatched(IOTR_VFS, sessions);
		return NULL;
	}
	pending = bpf_map_lookup_elem(&aio_pendings, &key);
	if (!pending)
		return NULL;
	pending->file.inode = IOTR_UNKNOWN;
	pending->size = pending->offset = IOTR_UNKNOWN;
	pending->flag_kind = IOTR_FLAGS_FILE;
	actor_current(&pending->actor);
	return pending;
}

/* Sets the sessions of a new operation, and drops it if there are none. */
static __always_inline void pending_keep(__u64 key, struct pending *pending, __u64 sessions)
{
	pending->sessions = sessions;
	if (!pending->sessions)
		bpf_map_delete_elem(&aio_pendings, &key);
}

/* Writes the row of an operation that ended. */
static __always_inline void pending_emit(struct iotr_control *page, const struct pending *pending,
					 __s64 result)
{
	__u64 now = bpf_ktime_get_ns(), sessions = pending_wanted(page, pending, pending->sessions);
	struct iotr_vfs_record *row;

	sessions = filter_begun(page, sessions, pending->start_ns);
	if (pending->file.inode == IOTR_UNKNOWN)
		sessions = filter_file(page, sessions, 0);
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
	row->head.unread = pending->unread && result >= 0;
	row->file = pending->file;
	row->result = result;
	row->size = pending->size;
	row->has_size = pending->size != IOTR_UNKNOWN;
	row->offset = pending->offset;
	row->address = IOTR_UNKNOWN;
	row->flags = pending->flags;
	row->fd = pending->fd;
	row->flag_kind = pending->flag_kind;
	if (row->flag_kind == IOTR_FLAGS_FILE && pending->file.inode == IOTR_UNKNOWN)
		row->flag_kind = IOTR_FLAGS_NONE;
	row->has_fd = pending->has_fd;
	row->counts_bytes = pending->counts_bytes;
	row_commit(row);
}
