/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File system operations: the arguments of a call, and what is saved of it when it begins. */
#pragma once

#include "files.bpf.h"
#include "iovec.bpf.h"
#include "locks.bpf.h"
#include "mappings.bpf.h"
#include "paths.bpf.h"
#include "registers.bpf.h"
#include "remembered.bpf.h"
#include "aio_request.bpf.h"
#include "slots.bpf.h"
#include "subtree_text.bpf.h"

#define AT_REMOVEDIR 0x200
#define MAP_ANONYMOUS 0x20
#define OPEN_CREAT_FLAGS 01101 /* O_CREAT|O_WRONLY|O_TRUNC, which creat(2) implies */
#define PAGE_BYTES   4096
#define FICLONE	     0x40049409
#define FICLONERANGE 0x4020940d

/* What a program can handle; constant in each program. */
enum part {
	PART_FILE = 1,	 /* calls on a descriptor */
	PART_RESULT = 2, /* calls with path arguments, or whose result identifies the file */
	PART_AIO = 4,
	PART_FUNCTION = 8,  /* it is on the function of a call */
	PART_STAND_IN = 16, /* it stands in for programs on functions */
	PART_PLAIN = 32,    /* plain calls, on a way of their own */
};

/* In the slot, after the arguments: the user address of an offset that is still to be read at the end; 0: none. */
#define ARG_OFFSET 6

/* An argument by its position, counted from 1. */
static __always_inline __u64 argument(const struct slot *slot, __u32 position)
{
	return slot->args[(position - 1) & 7];
}

/* Those arguments of a plain call of the native ABI that are looked at: its descriptor, size, and offset if it has one. */
static __always_inline void arguments_plain(struct slot *slot, const struct iotr_call *call, struct call_context context)
{
	slot->args[0] = argument_native(context, 1);
	slot->args[2] = argument_native(context, 3);
	if (!(call->traits & IOTR_CALL_POSITION))
		slot->args[3] = argument_native(context, 4);
}

static __always_inline bool call_failed(long result)
{
	return (__u64)result >= (__u64)-4095;
}

static __always_inline const struct iotr_call *call_of(struct iotr_control *page,
						       const struct slot *slot)
{
	return page->calls[slot->abi == IOTR_ABI_COMPAT] + call_index(slot->number);
}

static __always_inline void file_unknown(struct iotr_file *file)
{
	file->name = 0;
	file->inode = IOTR_UNKNOWN;
	file->device = 0;
	file->flags = 0;
}

/* The offset that one argument holds, or two. */
static __always_inline __u64 offset_argument(const struct iotr_call *call, const struct slot *slot, __u32 position)
{
	__u64 offset = argument(slot, position);

	if (call->traits & IOTR_CALL_OFFSET_SPLIT)
		offset |= argument(slot, position + 1) << 32;
	return offset;
}

/* Whether the offset argument is -1, which means the file position. */
static __always_inline bool at_position(const struct iotr_call *call, const struct slot *slot)
{
	return offset_argument(call, slot, call->offset) == IOTR_UNKNOWN;
}

static __always_inline __u64 offset_read(const struct iotr_call *call, __u64 pointer)
{
	__u64 offset = 0;
	__u32 size = call->traits & IOTR_CALL_OFFSET_SHORT ? sizeof(__u32) : sizeof(__u64);

	return bpf_probe_read_user(&offset, size, (void *)pointer) ? IOTR_UNKNOWN : offset;
}

/* The offset at which a call starts; IOTR_UNKNOWN, and ARG_OFFSET set, if its argument is not in memory yet. */
static __always_inline __u64 offset_of(const struct iotr_call *call, struct slot *slot, __u64 file, __u32 position)
{
	__u64 offset = IOTR_UNKNOWN, pointer;

	if (call->traits & IOTR_CALL_LOCKS)
		return slot->args[ARG_OFFSET] ? IOTR_UNKNOWN : lock_start(slot, file);
	if (position) {
		offset = offset_argument(call, slot, position);
		if (call->traits & IOTR_CALL_OFFSET_PAGES)
			offset *= PAGE_BYTES;
		if (call->traits & IOTR_CALL_OFFSET_POINTER) {
			pointer = offset;
			offset = IOTR_UNKNOWN;
			if (pointer) {
				offset = offset_read(call, pointer);
				if (offset == IOTR_UNKNOWN)
					slot->args[ARG_OFFSET] = pointer;
				return offset;
			}
		}
	}
	if (offset == IOTR_UNKNOWN && file && call->traits & IOTR_CALL_POSITION)
		offset = READ(struct file, file, f_pos);
	return offset;
}

/* The same at the end of a call, when the kernel has read the argument and updated it to where the call ended. */
static __always_inline void offset_late(const struct iotr_call *call, struct slot *slot, long result)
{
	__u64 offset = offset_read(call, slot->args[ARG_OFFSET]);

	slot->unread = offset == IOTR_UNKNOWN;
	slot->offset = offset == IOTR_UNKNOWN || result < 0 ? offset : offset - result;
}

/* The user's struct file_clone_range. */
struct clone_range {
	__s64 fd;
	__u64 offset;
	__u64 length;
	__u64 offset_to;
};

/* Puts what an ioctl clones into the arguments that the table names; false: it is no FICLONE or FICLONERANGE. */
static __always_inline bool clone_arguments(struct slot *slot)
{
	struct clone_range range = {};

	if ((__u32)slot->args[1] == FICLONE) {
		slot->args[3] = 0;
		slot->args[4] = IOTR_UNKNOWN; /* the whole file */
		return true;
	}
	if ((__u32)slot->args[1] != FICLONERANGE)
		return false;
	slot->unread = bpf_probe_read_user(&range, sizeof(range), (void *)slot->args[2]);
	if (slot->unread)
		return true;
	slot->args[2] = range.fd;
	slot->args[3] = range.offset;
	slot->args[4] = range.length;
	return true;
}

/* Whether dup2 closes an open file at its second argument. */
static __always_inline bool replaces(const struct slot *slot, struct task_struct *task)
{
	return (__u32)slot->args[0] != (__u32)slot->args[1] && file_of_fd(task, slot->args[1]);
}

static __always_inline __u64 slot_fd(struct slot *slot, struct task_struct *task, __s32 fd)
{
	slot->fd = fd;
	slot->has_fd = true;
	return file_of_fd(task, fd);
}

/*
 * Saves the open file of a descriptor in the slot, and tells its place. Returns the file, or 0. A function of its own for
 * callers with little stack left.
 */
static __noinline __u64 slot_file_apart(struct slot *slot, __s32 fd, bool *pseudo, struct place *place)
{
	__u64 file = slot_fd(slot, current_task(), fd);

	*pseudo = file && file_fill(file, &slot->file, place);
	return file;
}

/* Saves an open file, with its name, too, if it is remembered. Returns it, or 0. */
static __always_inline __u64 slot_file(const struct iotr_control *page, struct slot *slot, struct task_struct *task, __s32 fd,
				       bool *pseudo, struct place *place)
{
	__u64 file = 0, inode, hashed;

	slot->fd = fd;
	slot->has_fd = true;
	if (TYPES_ARE_FOLLOWED)
		file = opened_followed(task, fd, &slot->file, place, &inode, &hashed);
	if (!file) {
		file = file_of_fd(task, fd);
		if (!file) {
			file_unknown(&slot->file);
			return 0;
		}
		inode = file_place(file, &slot->file, place, &hashed);
	}
	if (!remembered_fill(page, *place, inode, hashed, &slot->file)) {
		*pseudo = inode_fill(number_of(inode), &slot->file);
		slot->file.name = 0;
	}
	return file;
}

/* Fills in the name of the file that was saved, and sends it if need be. The place need not be of numbers yet. */
static __always_inline void slot_name(struct slot *slot, struct place place, bool pseudo)
{
	if (slot->file.name && name_known(slot->file.name))
		return;
	place.dentry = number_of(place.dentry);
	place.mount = number_of(place.mount);
	slot->file.name = name_of(place);
	if (!pseudo)
		remember(place, &slot->file);
}

/*
 * Saves the open file that a call works on in the slot. `apart`: by a function of its own, as there is little stack left.
 * Returns the sessions that accept it.
 */
static __always_inline __u64 vfs_begins_file(struct iotr_control *page, const struct iotr_call *call,
					     struct slot *slot, struct task_struct *task,
					     __u64 sessions, bool apart)
{
	__u32 offset = call->offset;
	struct place place; /* set where there is a file */
	bool pseudo = false;
	__u64 file = apart ? slot_file_apart(slot, argument(slot, call->fd), &pseudo, &place) :
			     slot_file(page, slot, task, argument(slot, call->fd), &pseudo, &place);

	if (pseudo && call->fd_other) {
		offset = call->offset_other;
		file = slot_file_apart(slot, argument(slot, call->fd_other), &pseudo, &place);
	}
	if (pseudo && !(sessions & page->pseudo_fs) && call->traits & IOTR_CALL_ANY_PSEUDO) {
		file_unknown(&slot->file);
		return filter_file(page, filter_device(page, sessions, 0), 0);
	}
	if (pseudo)
		sessions &= page->pseudo_fs;
	if (sessions & page->filtered_file) {
		sessions = filter_device(page, sessions, slot->file.device);
		sessions = filter_file(page, sessions, file);
	}
	if (!sessions)
		return 0;
	slot->offset = offset_of(call, slot, file, offset);
	if (file)
		slot_name(slot, place, pseudo);
	return sessions;
}

/* The same by the thread, for programs that have much else on their stack. A global function. */
__noinline __u64 vfs_begins_apart(__u64 thread, __u64 sessions)
{
	struct iotr_control *page = control_page();
	struct slot *slot = slot_find(thread);

	return page && slot ? vfs_begins_file(page, call_of(page, slot), slot, current_task(), sessions, false) : 0;
}

/* The same at the end of an ioctl that clones, whose argument was not in memory at the start. A global function. */
__noinline __u64 vfs_clones(__u64 thread, __u64 sessions)
{
	struct iotr_control *page = control_page();
	struct slot *slot = slot_find(thread);

	if (!page || !slot || !clone_arguments(slot))
		return 0;
	if (!slot->unread)
		return vfs_begins_file(page, call_of(page, slot), slot, current_task(), sessions, true);
	slot->args[3] = slot->args[4] = IOTR_UNKNOWN;
	return filter_file(page, filter_device(page, sessions, 0), 0);
}

/* Saves the file that is mapped at the call's address. Returns the sessions that accept it. A global function. */
__noinline __u64 vfs_mapped(__u64 thread, __u64 sessions)
{
	struct iotr_control *page = control_page();
	struct slot *slot = slot_find(thread);
	struct place place = {};
	__u64 file;

	if (!page || !slot)
		return 0;
	file = file_mapped(argument(slot, call_of(page, slot)->address));
	if (file)
		place = place_of_backing(file);
	if (!place.dentry || (pseudo_place(place) && !(sessions & page->pseudo_fs)))
		return filter_file(page, sessions, 0);
	if (pseudo_place(place))
		sessions &= page->pseudo_fs;
	place_fill(place, &slot->file);
	sessions = filter_place(page, sessions, place);
	if (sessions)
		slot->file.name = name_of_place(place);
	return sessions;
}

/* Global functions, defined below; they find the call by its thread. */
__noinline __u64 vfs_path(__u64 thread, __u32 second);
__noinline __u64 vfs_within(__u64 thread, __u64 result);

/* Operations that change the file that they name by path, or its directory. */
#define ONE(operation) (1ULL << IOTR_VFS_##operation)
#define CHANGING                                                                                \
	(ONE(SETATTR) | ONE(UNLINK) | ONE(TRUNCATE) | ONE(RENAME) | ONE(MKDIR) | ONE(RMDIR) |     \
	 ONE(LINK) | ONE(SYMLINK) | ONE(MKNOD) | ONE(SETXATTR) | ONE(REMOVEXATTR) | ONE(MOUNT) |  \
	 ONE(UMOUNT))

/* Whether a row names its file by the text of a path argument, whatever the result of the call is. */
static __always_inline bool named_by_text(const struct iotr_call *call)
{
	return (call->path || call->path2) && !(call->traits & (IOTR_CALL_OPENS | IOTR_CALL_CHDIR));
}

/* Whether the path arguments can be read now: a page that was not accessed before may not be in memory. */
static __always_inline bool texts_there(const struct iotr_call *call, const struct slot *slot)
{
	char byte;

	if (call->path && !(call->traits & IOTR_CALL_TEXT) &&
	    bpf_probe_read_user(&byte, sizeof(byte), (void *)argument(slot, call->path)))
		return false;
	return !call->path2 || !bpf_probe_read_user(&byte, sizeof(byte), (void *)argument(slot, call->path2));
}

/*
 * Whether path arguments are read when the call begins: another thread may overwrite them later, or the
 * call itself, with its result. The cost is the same at the start and at the end, except for rows that are
 * mostly dropped at the end, as by --min-latency: then only operations that change something are read first.
 */
static __always_inline bool text_first(struct iotr_control *page, const struct iotr_call *call,
				       const struct slot *slot, __u64 sessions)
{
	return named_by_text(call) && texts_there(call, slot) &&
	       (CHANGING >> (slot->operation & 63) & 1 || sessions & ~page->filtered_end);
}

/* Sends the names of the call's path arguments that were not sent yet. */
static __always_inline void vfs_texts(const struct iotr_call *call, struct slot *slot)
{
	if (call->path && (!slot->file.name || slot->file.name == IOTR_NAME_LOST))
		slot->file.name = vfs_path(slot->thread, 0);
	if (call->path2 && (!slot->name2 || slot->name2 == IOTR_NAME_LOST))
		slot->name2 = vfs_path(slot->thread, 1);
}

/* Saves the buffer of a plain call of the native ABI, which arguments_plain() leaves out: only rows of direct I/O have it. */
static __noinline void slot_buffer(struct slot *slot)
{
	slot->args[1] = REGISTER(user_registers(), si);
}

/* Makes the operation that of direct I/O if the file is open for it. */
static __always_inline void slot_direct(const struct iotr_call *call, struct slot *slot)
{
	if (!(call->traits & IOTR_CALL_DIRECT) || !(slot->file.flags & O_DIRECT))
		return;
	slot->operation = call->operation == IOTR_VFS_READ ? IOTR_VFS_DIO_READ : IOTR_VFS_DIO_WRITE;
	if (call->traits & IOTR_CALL_PLAIN && slot->abi == IOTR_ABI_NATIVE)
		slot_buffer(slot);
}

/* What vfs_begins() does, for a plain call: what only other calls have in a slot is left as it is. */
static __always_inline __u64 vfs_begins_plain(struct iotr_control *page, const struct iotr_call *call,
					      struct slot *slot, struct task_struct *task, __u64 sessions)
{
	const struct iotr_call plain = IOTR_PLAIN_CALL(call->traits, call->operation);

	slot->operation = plain.operation;
	slot->flow = 0;
	sessions = vfs_begins_file(page, &plain, slot, task, sessions, false);
	slot_direct(&plain, slot);
	return sessions & page->operation[IOTR_VFS][slot->operation & (IOTR_OPERATIONS_MAX - 1)];
}

/* The same as a function, for programs that have much else on their stack. */
static __noinline __attribute__((unused)) __u64 vfs_begins_plain_apart(struct iotr_control *page, const struct iotr_call *call,
								       struct slot *slot, struct task_struct *task,
								       __u64 sessions)
{
	return vfs_begins_plain(page, call, slot, task, sessions);
}

static __always_inline __u64 vfs_begins(struct iotr_control *page, const struct iotr_call *call,
					struct slot *slot, struct task_struct *task, __u64 sessions,
					__u32 parts)
{
	slot->operation = call->operation;
	slot->offset = IOTR_UNKNOWN;
	slot->pseudo = false;
	slot->flow = 0;
	slot->has_fd = false;
	slot->texts = false;
	slot->unread = false;
	slot->args[ARG_OFFSET] = 0;
	slot->name2 = 0;
	file_unknown(&slot->file);
	if (call->traits & IOTR_CALL_CLONES && !clone_arguments(slot))
		return 0;
	if (call->traits & IOTR_CALL_REPLACES && !replaces(slot, task))
		return 0;
	if (call->traits & IOTR_CALL_LOCKS && !lock_arguments(slot))
		return 0;
	if (call->traits & IOTR_CALL_MAPPED) {
		slot->offset = offset_of(call, slot, 0, call->offset);
		sessions = vfs_mapped(slot->thread, sessions);
	} else if (!call->fd && !call->path && !call->path2 && !(call->traits & IOTR_CALL_OPENS)) {
		sessions = filter_file(page, sessions, 0);
	}
	if (call->traits & IOTR_CALL_MAPS && argument(slot, call->mapping) & MAP_ANONYMOUS)
		return filter_file(page, filter_device(page, sessions, 0), 0) &
		       page->operation[IOTR_VFS][IOTR_VFS_MMAP];
	if (parts & PART_FILE && call->fd && !slot->unread) {
		sessions = parts & PART_RESULT ? vfs_begins_apart(slot->thread, sessions) :
						 vfs_begins_file(page, call, slot, task, sessions, false);
		slot_direct(call, slot);
	}
	if (call->traits & IOTR_CALL_REMOVEDIR && argument(slot, call->flags) & AT_REMOVEDIR)
		slot->operation = IOTR_VFS_RMDIR;
	sessions &= page->operation[IOTR_VFS][slot->operation & (IOTR_OPERATIONS_MAX - 1)];
	if (!(parts & PART_RESULT) || !sessions || !text_first(page, call, slot, sessions))
		return sessions;
	if (sessions & page->filtered[IOTR_FILTER_PATH])
		sessions = filter_accepted(page, sessions, IOTR_FILTER_PATH, vfs_within(slot->thread, 0)) |
			   (slot->unread ? sessions : 0);
	if (!sessions || slot->unread) {
		slot->unread = false;
		return sessions;
	}
	slot->texts = true;
	vfs_texts(call, slot);
	if (slot->pseudo)
		sessions &= page->pseudo_fs;
	return sessions;
}
