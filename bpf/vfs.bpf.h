/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File system operations: what is remembered when a call begins, and its row when it ends. */
#pragma once

#include "files.bpf.h"
#include "iovec.bpf.h"
#include "paths.bpf.h"
#include "pending.bpf.h"
#include "slots.bpf.h"
#include "subtree_text.bpf.h"

#define AT_REMOVEDIR 0x200
#define MAP_ANONYMOUS 0x20
#define OPEN_CREAT_FLAGS 01101 /* O_CREAT|O_WRONLY|O_TRUNC, what creat(2) stands for */
#define PAGE_BYTES   4096

/* What a program can handle; fixed when it is compiled. */
enum part {
	PART_FILE = 1,	 /* calls on a descriptor */
	PART_RESULT = 2, /* calls with paths, or whose result says more about the file */
	PART_AIO = 4,
};

struct mapping_key {
	__u64 address;
	__u64 tgid;
};

struct mapping {
	struct iotr_file file;
	__u64 opened; /* address of the open file, which may be gone: to be compared with `file` */
};

HASH_OF(mappings, LRU_HASH, struct mapping_key, struct mapping, IOTR_MAPPINGS);

/* Argument by its position, counted from 1. */
static __always_inline __u64 argument(const struct slot *slot, __u32 position)
{
	return slot->args[(position - 1) & 7];
}

static __always_inline bool call_failed(long result)
{
	return (__u64)result >= (__u64)-4095;
}

static __always_inline void file_unknown(struct iotr_file *file)
{
	file->name = 0;
	file->inode = IOTR_UNKNOWN;
	file->device = 0;
	file->flags = 0;
}

/* Where in the file a call begins. */
static __always_inline __u64 offset_of(const struct iotr_call *call, const struct slot *slot,
				       __u64 file, __u32 position)
{
	__u64 offset = IOTR_UNKNOWN, pointer;

	if (position) {
		offset = argument(slot, position);
		if (call->traits & IOTR_CALL_OFFSET_SPLIT)
			offset |= argument(slot, position + 1) << 32;
		if (call->traits & IOTR_CALL_OFFSET_PAGES)
			offset *= PAGE_BYTES;
		if (call->traits & IOTR_CALL_OFFSET_POINTER) {
			pointer = offset;
			offset = IOTR_UNKNOWN;
			if (pointer)
				bpf_probe_read_user(&offset, sizeof(offset), (void *)pointer);
		}
	}
	if (offset == IOTR_UNKNOWN && file && call->traits & IOTR_CALL_POSITION)
		offset = READ(struct file, file, f_pos);
	return offset;
}

/* Notes the open file of a descriptor in the slot. Returns the file, or 0. */
static __always_inline __u64 slot_file(struct slot *slot, struct task_struct *task, __s32 fd,
				       bool *pseudo)
{
	__u64 file = file_of_fd(task, fd);

	slot->fd = fd;
	slot->has_fd = true;
	*pseudo = file && file_fill(file, &slot->file);
	return file;
}

/* The open file a call works on, in the slot. Returns the sessions that want it. */
static __always_inline __u64 vfs_begins_file(struct iotr_control *page, const struct iotr_call *call,
					     struct slot *slot, struct task_struct *task,
					     __u64 sessions)
{
	__u32 offset = call->offset;
	bool pseudo;
	__u64 file = slot_file(slot, task, argument(slot, call->fd), &pseudo);

	if (pseudo && call->fd_other) {
		offset = call->offset_other;
		file = slot_file(slot, task, argument(slot, call->fd_other), &pseudo);
	}
	if (pseudo && !(sessions & page->pseudo_fs) && call->traits & IOTR_CALL_ANY_PSEUDO) {
		file_unknown(&slot->file);
		return filter_file(page, filter_device(page, sessions, 0), 0);
	}
	if (pseudo)
		sessions &= page->pseudo_fs;
	sessions = filter_device(page, sessions, slot->file.device);
	sessions = filter_file(page, sessions, file);
	if (!sessions)
		return 0;
	slot->offset = offset_of(call, slot, file, offset);
	if (file)
		slot->file.name = name_of(page, place_of_file(file));
	return sessions;
}

/* Returns the sessions that want the mapping's file. */
static __always_inline __u64 vfs_begins_mapping(struct iotr_control *page, const struct iotr_call *call,
						struct slot *slot, __u64 sessions)
{
	struct mapping_key key = {
		.address = argument(slot, call->address),
		.tgid = bpf_get_current_pid_tgid() >> 32,
	};
	struct mapping *mapping = bpf_map_lookup_elem(&mappings, &key);

	struct iotr_file now = {};

	if (!mapping)
		return filter_file(page, sessions, 0);
	slot->file = mapping->file;
	if (!(sessions & page->filtered[IOTR_FILTER_PATH]))
		return sessions;
	file_fill(mapping->opened, &now);
	return filter_file(page, sessions,
			   now.inode == slot->file.inode && now.device == slot->file.device ?
				   mapping->opened :
				   0);
}

static __always_inline __u64 vfs_begins(struct iotr_control *page, const struct iotr_call *call,
					struct slot *slot, struct task_struct *task, __u64 sessions,
					__u32 parts)
{
	slot->operation = call->operation;
	slot->offset = IOTR_UNKNOWN;
	slot->pseudo = false;
	slot->has_fd = false;
	slot->name2 = 0;
	file_unknown(&slot->file);
	if (call->traits & IOTR_CALL_MAPPED)
		sessions = vfs_begins_mapping(page, call, slot, sessions);
	else if (!call->fd && !call->path)
		sessions = filter_file(page, sessions, 0);
	if (call->traits & IOTR_CALL_MAPS && argument(slot, call->mapping) & MAP_ANONYMOUS)
		return filter_file(page, sessions, 0) & page->operation[IOTR_VFS][IOTR_VFS_MMAP];
	if (parts & PART_FILE && call->fd) {
		sessions = vfs_begins_file(page, call, slot, task, sessions);
		if (call->traits & IOTR_CALL_DIRECT && slot->file.flags & O_DIRECT)
			slot->operation = call->operation == IOTR_VFS_READ ? IOTR_VFS_DIO_READ :
									     IOTR_VFS_DIO_WRITE;
	}
	if (call->traits & IOTR_CALL_REMOVEDIR && argument(slot, call->flags) & AT_REMOVEDIR)
		slot->operation = IOTR_VFS_RMDIR;
	if (!(call->traits & IOTR_CALL_MOVES))
		sessions &= page->operation[IOTR_VFS][slot->operation & (IOTR_OPERATIONS_MAX - 1)];
	return sessions;
}

static __always_inline __u64 size_of(const struct iotr_call *call, const struct slot *slot)
{
	__u64 size;

	if (!call->size)
		return IOTR_UNKNOWN;
	size = argument(slot, call->size);
	if (call->traits & IOTR_CALL_IOVEC)
		return iovec_bytes(size, argument(slot, call->size + 1),
				   slot->abi == IOTR_ABI_COMPAT);
	if (call->traits & IOTR_CALL_SIZE_SPLIT)
		size |= argument(slot, call->size + 1) << 32;
	return size;
}

/* The name of a path argument; notes in the slot when it leads to a pseudo file system. */
static __always_inline __u64 name_of_path(struct slot *slot, __s32 directory, __u64 user)
{
	bool pseudo;
	__u64 name = name_of_argument(directory, user, &pseudo);

	slot->pseudo |= pseudo;
	return name;
}

static __always_inline __s32 directory_of(const struct slot *slot, __u32 position)
{
	return position ? (__s32)argument(slot, position) : AT_FDCWD;
}

/* struct stat and struct statx of the user, as far as they identify the file. */
static __always_inline void file_of_stat(const struct iotr_call *call, const struct slot *slot,
					 struct iotr_file *file)
{
	__u64 buffer = argument(slot, call->buffer), stat[2];
	__u32 device[2];

	if (slot->abi != IOTR_ABI_NATIVE && call->traits & IOTR_CALL_STAT)
		return;
	if (call->traits & IOTR_CALL_STATX) {
		if (bpf_probe_read_user(&stat[1], sizeof(stat[1]), (void *)(buffer + 32)) ||
		    bpf_probe_read_user(device, sizeof(device), (void *)(buffer + 136)))
			return;
		file->device = device[0] << 20 | device[1];
	} else {
		if (bpf_probe_read_user(stat, sizeof(stat), (void *)buffer))
			return;
		file->device = (__u32)((stat[0] >> 8 & 0xfff) << 20 | (stat[0] & 0xff) |
				       (stat[0] >> 12 & 0xfff00));
	}
	file->inode = stat[1];
}

static __always_inline __u32 flags_of(const struct iotr_call *call, const struct slot *slot)
{
	__u64 flags = 0;

	if (call->traits & IOTR_CALL_CREAT)
		return OPEN_CREAT_FLAGS;
	if (!call->flags)
		return 0;
	flags = argument(slot, call->flags);
	if (call->traits & IOTR_CALL_HOW && bpf_probe_read_user(&flags, sizeof(flags), (void *)flags))
		return 0;
	return flags;
}

static __always_inline const struct iotr_call *call_of(struct iotr_control *page,
						       const struct slot *slot)
{
	return &page->calls[slot->abi == IOTR_ABI_COMPAT][slot->number & (IOTR_CALLS - 1)];
}

static __always_inline void remember_mapping(const struct iotr_call *call, const struct slot *slot,
					     __u64 address)
{
	struct mapping_key key = { .tgid = bpf_get_current_pid_tgid() >> 32 };
	struct mapping mapping = { .file = slot->file }, *before;

	if (call->traits & IOTR_CALL_MAPS)
		mapping.opened = file_of_fd(current_task(), slot->fd);
	if (call->traits & (IOTR_CALL_UNMAPS | IOTR_CALL_REMAPS)) {
		key.address = argument(slot, call->address);
		before = bpf_map_lookup_elem(&mappings, &key);
		mapping.opened = before ? before->opened : 0;
		bpf_map_delete_elem(&mappings, &key);
	}
	if (call->traits & (IOTR_CALL_MAPS | IOTR_CALL_REMAPS) && slot->file.inode != IOTR_UNKNOWN) {
		key.address = address;
		bpf_map_update_elem(&mappings, &key, &mapping, BPF_ANY);
	}
}

/* Functions of their own, verified once, find the call by its thread. */

/* What a call that succeeded made known about its file. */
__noinline int vfs_result(__u64 thread, __u64 result)
{
	struct iotr_control *page = control_page();
	struct task_struct *task = current_task();
	struct slot *slot = slot_find(thread);
	const struct iotr_call *call;
	struct place place;
	__u64 file;

	if (!page || !slot)
		return 0;
	call = call_of(page, slot);
	if (call->traits & IOTR_CALL_OPENS) {
		file = file_of_fd(task, result);
		if (file) {
			slot->pseudo = file_fill(file, &slot->file);
			slot->file.name = name_of_place(place_of_file(file));
		}
	}
	if (call->traits & (IOTR_CALL_STAT | IOTR_CALL_STATX))
		file_of_stat(call, slot, &slot->file);
	if (call->traits & IOTR_CALL_CHDIR) {
		place = base_of(task, AT_FDCWD, false);
		place_fill(place, &slot->file);
		slot->file.name = name_of_place(place);
	}
	remember_mapping(call, slot, result);
	return 0;
}

/* The name of the first or second path argument. */
__noinline __u64 vfs_path(__u64 thread, __u32 second)
{
	struct iotr_control *page = control_page();
	struct slot *slot = slot_find(thread);
	const struct iotr_call *call;
	__u32 directory, path;

	if (!page || !slot)
		return 0;
	call = call_of(page, slot);
	directory = second ? call->directory2 : call->directory;
	path = second ? call->path2 : call->path;
	if (directory && !argument(slot, path)) { /* utimensat: the descriptor itself */
		slot_file(slot, current_task(), argument(slot, directory), &slot->pseudo);
		return name_of_path(slot, argument(slot, directory), 0);
	}
	if (!second && call->traits & IOTR_CALL_TEXT)
		return name_of_text(0, (void *)argument(slot, path));
	return name_of_path(slot, directory_of(slot, directory), argument(slot, path));
}

/*
 * Sessions in whose folders the file lies that the call opened or went to, else those in whose
 * folders either of its paths leads.
 */
__noinline __u64 vfs_within(__u64 thread, __u64 result)
{
	struct iotr_control *page = control_page();
	struct slot *slot = slot_find(thread);
	const struct iotr_call *call;
	struct place place = {};
	__u64 file, within = 0;

	if (!page || !slot)
		return 0;
	call = call_of(page, slot);
	if (!call_failed(result) && call->traits & IOTR_CALL_CHDIR)
		place = base_of(current_task(), AT_FDCWD, false);
	if (!call_failed(result) && call->traits & IOTR_CALL_OPENS) {
		file = file_of_fd(current_task(), result);
		if (file)
			place = place_of_file(file);
	}
	if (place.dentry)
		return subtree_sessions(page, subtree_find(place));
	if (!(call->traits & IOTR_CALL_TEXT))
		within = path_sessions(page, directory_of(slot, call->directory), argument(slot, call->path));
	if (call->path2)
		within |= path_sessions(page, directory_of(slot, call->directory2),
					argument(slot, call->path2));
	return within;
}

/* Names and identity that are only known at the end. Returns the sessions that want the row. */
static __always_inline __u64 vfs_ends_file(struct iotr_control *page, const struct iotr_call *call,
					   struct slot *slot, long result, __u64 sessions)
{
	if (call->path && sessions & page->filtered[IOTR_FILTER_PATH])
		sessions = filter_accepted(page, sessions, IOTR_FILTER_PATH, vfs_within(slot->thread, result));
	if (!sessions)
		return 0;
	if (!call_failed(result))
		vfs_result(slot->thread, result);
	if (call->path && !slot->file.name)
		slot->file.name = vfs_path(slot->thread, 0);
	if (call->path2)
		slot->name2 = vfs_path(slot->thread, 1);
	if (slot->pseudo)
		sessions &= page->pseudo_fs;
	return filter_device(page, sessions, slot->file.device);
}

static __always_inline void vfs_fill(struct iotr_vfs_record *row, const struct iotr_call *call,
				     const struct slot *slot, long result, __u64 size)
{
	row->file = slot->file;
	row->name2 = slot->name2;
	row->result = result;
	row->size = size;
	row->offset = slot->offset;
	row->address = call->address ? argument(slot, call->address) : IOTR_UNKNOWN;
	if (call->traits & IOTR_CALL_MAPS && !call_failed(result))
		row->address = result;
	row->flags = flags_of(call, slot);
	row->protection = call->protection ? argument(slot, call->protection) : 0;
	row->mapping = call->mapping ? argument(slot, call->mapping) : 0;
	row->fd = slot->has_fd ? slot->fd : result;
	row->flag_kind = call->flag_kind;
	row->has_fd = slot->has_fd || (call->traits & IOTR_CALL_OPENS && result >= 0);
	row->has_mapping = call->mapping != 0;
	row->counts_bytes = !!(call->traits & IOTR_CALL_BYTES);
}

static __always_inline void vfs_ends(struct iotr_control *page, const struct iotr_call *call,
				     struct slot *slot, long result, __u64 end, __u32 parts)
{
	struct task_struct *task = (struct task_struct *)slot->task;
	__u64 size = size_of(call, slot), sessions = slot->sessions;
	struct iotr_command command;
	struct iotr_vfs_record *row;

	if (call->traits & IOTR_CALL_MOVES && !result)
		__sync_fetch_and_add(&page->epoch, 1);
	sessions &= page->operation[IOTR_VFS][slot->operation & (IOTR_OPERATIONS_MAX - 1)];
	sessions = filter_end(page, sessions, end - slot->start_ns, size, call_failed(result));
	if (!sessions)
		return;
	result = result_seen(result);
	if (parts & PART_RESULT && (!call->fd || call->traits & (IOTR_CALL_STAT | IOTR_CALL_MAPS)))
		sessions = vfs_ends_file(page, call, slot, result, sessions);
	task_command(task, &command);
	if (!sessions || command_is_ours(&command))
		return;
	row = row_begin(IOTR_VFS, sizeof(*row), sessions);
	if (!row)
		return;
	head_fill(&row->head, sizeof(*row), IOTR_VFS, slot->operation, sessions, slot->start_ns, end);
	head_fill_current(&row->head, task, &command);
	vfs_fill(row, call, slot, result, size);
	row_commit(row);
}
