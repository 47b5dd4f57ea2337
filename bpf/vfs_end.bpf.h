/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File system operations: the row of a call when it ends. */
#pragma once

#include "vfs_begin.bpf.h"

/* The size in the user's struct xattr_args, or its flags; IOTR_UNKNOWN: it cannot be read. */
static __always_inline __u64 xattr_args(__u64 user, bool flags)
{
	__u32 words[2];

	if (bpf_probe_read_user(words, sizeof(words), (void *)(user + 8)))
		return IOTR_UNKNOWN;
	return words[flags];
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
	if (call->traits & IOTR_CALL_XATTR_ARGS)
		return xattr_args(size, false);
	return size;
}

/* Whether the call has a size, which may be ~0 as passed; false: it has none, or it could not be read. */
static __always_inline bool size_known(const struct iotr_call *call, __u64 size)
{
	const __u32 read = IOTR_CALL_IOVEC | IOTR_CALL_XATTR_ARGS | IOTR_CALL_CLONES | IOTR_CALL_LOCKS;

	return size != IOTR_UNKNOWN || (call->size && !(call->traits & read));
}

/* Sends the name of a path argument; sets `pseudo` in the slot if it leads to a pseudo file system. */
static __always_inline __u64 name_of_path(struct slot *slot, __s32 directory, __u64 user, bool follow)
{
	bool pseudo;
	__u64 name = name_of_argument(directory, user, follow, &pseudo);

	slot->pseudo |= pseudo;
	return name;
}

static __always_inline __s32 directory_of(const struct slot *slot, __u32 position)
{
	return position ? (__s32)argument(slot, position) : AT_FDCWD;
}

/* Sets inode and device from the user's struct stat or struct statx, unless they are known by the open file. */
static __always_inline void file_of_stat(const struct iotr_call *call, const struct slot *slot,
					 struct iotr_file *file)
{
	__u64 buffer = argument(slot, call->buffer), stat[2];
	__u32 device[2];

	if ((slot->abi != IOTR_ABI_NATIVE && call->traits & IOTR_CALL_STAT) || (slot->has_fd && slot->file.inode != IOTR_UNKNOWN))
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

static __always_inline __u32 flags_of(const struct iotr_call *call, struct slot *slot)
{
	__u64 flags = 0, more;

	if (call->traits & IOTR_CALL_CREAT)
		return OPEN_CREAT_FLAGS;
	if (!call->flags)
		return 0;
	flags = argument(slot, call->flags);
	if (call->traits & IOTR_CALL_HOW && bpf_probe_read_user(&flags, sizeof(flags), (void *)flags)) {
		slot->unread = true;
		return 0;
	}
	if (call->flags_other)
		flags |= argument(slot, call->flags_other);
	if (call->traits & IOTR_CALL_XATTR_ARGS && call->operation == IOTR_VFS_SETXATTR) {
		more = xattr_args(argument(slot, call->size), true);
		flags |= more == IOTR_UNKNOWN ? 0 : more;
	}
	return flags;
}

#define AT_NOFOLLOW	0x100
#define AT_FOLLOW	0x400
#define OPEN_NOFOLLOW	00400000
#define OPEN_EXCLUSIVE	00000300 /* O_CREAT and O_EXCL */
#define UMOUNT_NOFOLLOW 8

/* Operations that are about a symbolic link at the end of a path, not about what it leads to. */
#define AT_LINKS (ONE(UNLINK) | ONE(RMDIR) | ONE(RENAME) | ONE(MKDIR) | ONE(SYMLINK) | ONE(MKNOD) | ONE(READLINK))

/* Whether a call follows a symbolic link at the end of its first or second path. */
static __always_inline bool follows(const struct iotr_call *call, const struct slot *slot, bool second)
{
	__u64 flags = call->flags ? argument(slot, call->flags) : 0;

	if (call->flags_other)
		flags |= argument(slot, call->flags_other);
	if (AT_LINKS >> (slot->operation & 63) & 1 || call->traits & IOTR_CALL_AT_LINK)
		return false;
	if (slot->operation == IOTR_VFS_LINK)
		return !second && flags & AT_FOLLOW;
	switch (call->flag_kind) {
	case IOTR_FLAGS_OPEN:
		return call->traits & IOTR_CALL_HOW ||
		       (!(flags & OPEN_NOFOLLOW) && (flags & OPEN_EXCLUSIVE) != OPEN_EXCLUSIVE);
	case IOTR_FLAGS_UMOUNT:
		return !(flags & UMOUNT_NOFOLLOW);
	case IOTR_FLAGS_AT:
	case IOTR_FLAGS_ACCESS:
	case IOTR_FLAGS_XATTR:
	case IOTR_FLAGS_OPEN_TREE:
		return !(flags & AT_NOFOLLOW);
	default:
		return true;
	}
}

/* The following global functions find the call by its thread. */

/* Saves what the result of a call that succeeded tells about its file. */
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
			slot->pseudo = file_fill_apart(file, &slot->file, &place);
			slot->file.name = name_of_place(place);
		}
	}
	if (call->traits & (IOTR_CALL_STAT | IOTR_CALL_STATX))
		file_of_stat(call, slot, &slot->file);
	if (call->traits & IOTR_CALL_CHDIR) {
		place = base_of(task, AT_FDCWD, false);
		place_fill(place, &slot->file);
		slot->file.name = name_of_place(place);
	}
	return 0;
}

/* Sends the name of the first or second path argument and returns its id. */
__noinline __u64 vfs_path(__u64 thread, __u32 second)
{
	struct iotr_control *page = control_page();
	struct slot *slot = slot_find(thread);
	const struct iotr_call *call;
	struct place place = {};
	__u32 directory, path;

	if (!page || !slot)
		return 0;
	call = call_of(page, slot);
	directory = second ? call->directory2 : call->directory;
	path = second ? call->path2 : call->path;
	if (directory && !argument(slot, path)) { /* utimensat: the descriptor itself */
		slot_file_apart(slot, argument(slot, directory), &slot->pseudo, &place);
		return name_of_path(slot, argument(slot, directory), 0, true);
	}
	if (!second && call->traits & IOTR_CALL_TEXT)
		return name_of_text(0, argument(slot, path));
	return name_of_path(slot, directory_of(slot, directory), argument(slot, path), follows(call, slot, second));
}

/*
 * Sessions whose path filter accepts the file that the call opened or changed to; if there is none, those
 * whose filter accepts either of its path arguments.
 */
__noinline __u64 vfs_within(__u64 thread, __u64 result)
{
	struct iotr_control *page = control_page();
	struct slot *slot = slot_find(thread);
	const struct iotr_call *call;
	struct place place = {};
	__u64 file, within = 0;
	bool unread = false;

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
	if (call->path && !(call->traits & IOTR_CALL_TEXT))
		within = path_sessions(page, directory_of(slot, call->directory), argument(slot, call->path),
				       follows(call, slot, false), &unread);
	if (call->path2)
		within |= path_sessions(page, directory_of(slot, call->directory2),
					argument(slot, call->path2), follows(call, slot, true), &unread);
	slot->unread = unread;
	return within;
}

/*
 * The offset that an appending write went to, which is known only afterwards. A write that moves the file
 * position leaves it at the end of the bytes written; for one with an offset argument the file's size is
 * that end. If another thread writes to the same open file at that moment, or with an offset to the same
 * file, the result is that of the other write.
 */
__noinline __u64 vfs_appended(__u64 thread, __s64 result)
{
	struct iotr_control *page = control_page();
	struct slot *slot = slot_find(thread);
	const struct iotr_call *call;
	__u64 file, inode;

	if (!page || !slot || result <= 0)
		return IOTR_UNKNOWN;
	file = file_of_fd(current_task(), slot->fd);
	if (!file)
		return IOTR_UNKNOWN;
	call = call_of(page, slot);
	inode = (__u64)READ(struct file, file, f_inode);
	if (READ(struct inode, inode, i_ino) != slot->file.inode)
		return IOTR_UNKNOWN; /* closed meanwhile */
	if ((READ(struct inode, inode, i_mode) & S_IFMT) != S_IFREG)
		return slot->offset;
	if (call->traits & IOTR_CALL_POSITION && (!call->offset || at_position(call, slot)))
		return READ(struct file, file, f_pos) - result;
	return READ(struct inode, inode, i_size) - result;
}

/*
 * Sends the names again that the daemon has forgotten since the call began. A path that another thread has overwritten, or a
 * descriptor that it has closed meanwhile, has another name, and the row lacks its own, which is counted.
 */
__noinline int vfs_names_again(__u64 thread)
{
	struct iotr_control *page = control_page();
	struct slot *slot = slot_find(thread);
	const struct iotr_call *call;
	__u64 file;

	if (!page || !slot)
		return 0;
	call = call_of(page, slot);
	if (slot->file.name && !name_known(slot->file.name)) {
		file = call->fd ? file_of_fd(current_task(), slot->fd) : 0;
		if (file)
			name_of_place(place_of_file(file));
		else if (call->path)
			vfs_path(thread, 0);
	}
	if (call->path2 && slot->name2 && !name_known(slot->name2))
		vfs_path(thread, 1);
	return 0;
}

/*
 * Sessions whose path filter accepts the call. If its path arguments cannot be read at the end, it is not known
 * whether the other sessions accept it: for those the row is counted as lost.
 */
static __always_inline __u64 vfs_accepted(struct iotr_control *page, struct slot *slot, long result, __u64 sessions)
{
	__u64 within, accepted;

	slot->unread = false;
	within = vfs_within(slot->thread, result);
	accepted = filter_accepted(page, sessions, IOTR_FILTER_PATH, within);
	if (slot->unread && result != -EFAULT)
		row_unmatched(IOTR_VFS, sessions & ~accepted);
	slot->unread = false;
	return accepted;
}

/* Fills in names, inode and device that are only known at the end. Returns the sessions that accept the row. */
static __always_inline __u64 vfs_ends_file(struct iotr_control *page, const struct iotr_call *call,
					   struct slot *slot, long result, __u64 sessions)
{
	if (!slot->texts && sessions & page->filtered[IOTR_FILTER_PATH] &&
	    (call->path || call->path2 || call->traits & IOTR_CALL_OPENS))
		sessions = vfs_accepted(page, slot, result, sessions);
	if (!sessions)
		return 0;
	if (!call_failed(result))
		vfs_result(slot->thread, result);
	vfs_texts(call, slot);
	slot->file.name = name_told(slot->file.name, result);
	slot->name2 = name_told(slot->name2, result);
	if (slot->pseudo)
		sessions &= page->pseudo_fs;
	return filter_device(page, sessions, slot->file.device);
}

/* Whether the call that ends is a write that appends to its file. */
static __always_inline bool call_appends(const struct iotr_call *call, const struct slot *slot)
{
	return call->traits & IOTR_CALL_DIRECT &&
	       (slot->operation == IOTR_VFS_WRITE || slot->operation == IOTR_VFS_DIO_WRITE) &&
	       appends(&slot->file, call->flags ? argument(slot, call->flags) : 0);
}

/* The user's buffer of direct I/O, of a vector the first one: such I/O fails where it is not aligned. */
static __always_inline __u64 buffer_of(const struct iotr_call *call, const struct slot *slot)
{
	if (call->traits & IOTR_CALL_IOVEC)
		return iovec_first(slot->args[1], slot->args[2], slot->abi == IOTR_ABI_COMPAT);
	return slot->args[1];
}

static __always_inline void vfs_fill(struct iotr_vfs_record *row, const struct iotr_call *call,
				     struct slot *slot, long result, __u64 size)
{
	bool takes_fd = call->traits & IOTR_CALL_PLAIN || slot->has_fd;

	row->file = slot->file;
	row->name2 = call->path2 ? slot->name2 : 0;
	row->result = result;
	row->size = size;
	row->has_size = size_known(call, size);
	row->offset = slot->offset;
	row->address = call->address ? argument(slot, call->address) : IOTR_UNKNOWN;
	if (call->traits & IOTR_CALL_DIRECT && slot->operation >= IOTR_VFS_DIO_READ)
		row->address = buffer_of(call, slot);
	if (call->traits & IOTR_CALL_MAPS && !call_failed(result))
		row->address = result;
	row->flags = flags_of(call, slot);
	row->protection = call->protection ? argument(slot, call->protection) : 0;
	row->mapping = call->mapping ? argument(slot, call->mapping) : 0;
	row->fd = takes_fd ? slot->fd : result;
	/* If the descriptor was not open, there are no flags. */
	row->flag_kind = call->flag_kind == IOTR_FLAGS_FILE && slot->file.inode == IOTR_UNKNOWN ? IOTR_FLAGS_NONE :
												 call->flag_kind;
	row->has_fd = takes_fd || (call->traits & IOTR_CALL_OPENS && result >= 0);
	row->has_mapping = call->mapping != 0;
	row->counts_bytes = !!(call->traits & IOTR_CALL_BYTES);
	row->flow = slot->flow;
	__builtin_memset(row->pad, 0, sizeof(row->pad));
	if (!(call->traits & IOTR_CALL_PLAIN))
		row->head.unread = !call_failed(result) &&
				   (slot->unread ||
				    (call->traits & (IOTR_CALL_IOVEC | IOTR_CALL_XATTR_ARGS) && !row->has_size));
}

/* Writes the row of a call that ends, if there is one. */
static __always_inline void vfs_ends(struct iotr_control *page, const struct iotr_call *call,
				     struct slot *slot, __u64 thread, __u64 sessions, long result, __u64 end, __u32 parts)
{
	__u64 size;
	struct iotr_vfs_record *row;
	bool known;

	if (parts & PART_FILE && call->traits & IOTR_CALL_CLONES && slot->unread)
		sessions = vfs_clones(thread, sessions);
	if (parts & PART_FILE && call->traits & IOTR_CALL_LOCKS && slot->args[ARG_OFFSET]) {
		slot->offset = lock_late(slot);
		slot->unread = slot->offset == IOTR_UNKNOWN;
	}
	size = size_of(call, slot);
	if (call->traits & IOTR_CALL_REPLACES && call_failed(result))
		return; /* nothing was closed */
	sessions &= call->traits & IOTR_CALL_PLAIN ? /* its operation was known at the start */
			    page->wanted[IOTR_VFS] :
			    page->operation[IOTR_VFS][slot->operation & (IOTR_OPERATIONS_MAX - 1)];
	known = size_known(call, size);
	sessions = filter_end(page, sessions, end - slot->start_ns, size - (known && size == IOTR_UNKNOWN),
			      call_failed(result));
	if (!sessions)
		return;
	if (parts & PART_RESULT && (!call->fd || call->traits & IOTR_CALL_STAT))
		sessions = vfs_ends_file(page, call, slot, result, sessions);
	if (!sessions)
		return;
	if (parts & PART_FILE && call->traits & IOTR_CALL_OFFSET_POINTER && slot->args[ARG_OFFSET])
		offset_late(call, slot, result);
	if (parts & PART_FILE && call_appends(call, slot))
		slot->offset = vfs_appended(thread, result);
	if (end - slot->start_ns >= IOTR_NAME_STAYS_NS)
		vfs_names_again(thread);
	row = row_begin_at(IOTR_VFS, slot->operation, sizeof(*row), sessions, parts & PART_PLAIN);
	if (!row)
		return;
	head_fill(&row->head, sessions, slot->start_ns, end);
	head_fill_current(&row->head, current_task());
	vfs_fill(row, call, slot, result, size);
	if (*(volatile __u64 *)&slot->thread == thread)
		row_commit(row);
	else /* the slot was taken meanwhile: the row may have data of another thread */
		row_void(row, IOTR_VFS, sessions);
}
