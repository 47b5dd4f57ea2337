/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File operations that outlive the call that began them: of libaio and io_uring. What the row
 * says is noted when they are submitted; the row is written when their result is seen. Define
 * PENDINGS, the name of the map, first.
 */
#pragma once

#include "actor.bpf.h"
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
	__u16 index; /* which of several submitted together */
	__u8 repeats; /* has several completions */
	__u8 pad;
};

HASH_OF(PENDINGS, HASH, __u64, struct pending, IOTR_ASYNC);

#define O_DIRECT 040000

/* The file that an operation works on, 0: none. Returns the sessions that want it. */
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
	END_UNSEEN(IOTR_VFS, PENDINGS, struct pending, key);
}

/*
 * A new operation, filled in where it stays: it is too large for the stack. NULL, and counted, when there
 * is no room.
 */
static __always_inline struct pending *pending_new(__u64 key, __u64 sessions)
{
	struct pending *pending, *blank;
	__u32 zero = 0;

	pending_unended(key);
	blank = bpf_map_lookup_elem(&pending_blank, &zero);
	if (!blank || bpf_map_update_elem(&PENDINGS, &key, blank, BPF_ANY)) {
		row_unmatched(IOTR_VFS, sessions);
		return NULL;
	}
	pending = bpf_map_lookup_elem(&PENDINGS, &key);
	if (!pending)
		return NULL;
	pending->file.inode = IOTR_UNKNOWN;
	pending->size = pending->offset = IOTR_UNKNOWN;
	pending->flag_kind = IOTR_FLAGS_FILE;
	actor_current(&pending->actor);
	return pending;
}

/* Lets the operation be when no session wants it. */
static __always_inline void pending_keep(__u64 key, struct pending *pending, __u64 sessions)
{
	pending->sessions = command_is_ours(&pending->actor.command) ? 0 : sessions;
	if (!pending->sessions)
		bpf_map_delete_elem(&PENDINGS, &key);
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
