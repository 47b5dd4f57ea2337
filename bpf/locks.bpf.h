/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks of ranges of a file, by fcntl. What is locked stands in the user's struct flock, of which there are three. */
#pragma once

#include "files.bpf.h"
#include "lock_commands.bpf.h"
#include "slots.bpf.h"

/* In the slot: fcntl has three arguments, and what its third points to goes into those behind. */
enum {
	LOCK_COMMAND = 1,
	LOCK_POINTER = 2,
	LOCK_START = 3,
	LOCK_LENGTH = 4,
	LOCK_FLAGS = 5,
	LOCK_UNREAD = 6, /* ARG_OFFSET: it is still to be read */
	LOCK_WHENCE = 7,
};

/* The beginning of each such struct, and the numbers of both with 64 bits. */
struct lock_head {
	__s16 type;
	__s16 whence;
	__s32 narrow[2]; /* start and length of the 32-bit struct flock */
};

/* Reads start and length of 64 bits, which the 32-bit ABI does not align. */
static __always_inline bool lock_range(const struct slot *slot, __s64 range[2])
{
	__u32 at = slot->abi == IOTR_ABI_COMPAT ? 4 : 8;

	return !bpf_probe_read_user(range, 2 * sizeof(range[0]), (void *)(slot->args[LOCK_POINTER] + at));
}

/* Reads the user's struct; false: it is not in memory. */
static __always_inline bool lock_read(struct slot *slot, __u32 command, bool wide)
{
	struct lock_head head = {};
	__s64 range[2];

	if (bpf_probe_read_user(&head, sizeof(head), (void *)slot->args[LOCK_POINTER]))
		return false;
	range[0] = head.narrow[0];
	range[1] = head.narrow[1];
	if (wide && !lock_range(slot, range))
		return false;
	if (range[1] < 0) { /* it ends before the start */
		range[0] += range[1];
		range[1] = -range[1];
	}
	slot->args[LOCK_START] = range[0];
	slot->args[LOCK_LENGTH] = range[1];
	slot->args[LOCK_WHENCE] = head.whence;
	slot->args[LOCK_FLAGS] = command | IOTR_LOCK_TYPE((__u16)head.type);
	return true;
}

/* Puts what is locked into the arguments that the table names; false: the call is about something else. */
static __always_inline bool lock_arguments(struct slot *slot)
{
	__u32 given = slot->args[LOCK_COMMAND], command = lock_command(given, slot->abi == IOTR_ABI_COMPAT);
	bool wide = slot->abi == IOTR_ABI_NATIVE || given >= LOCK_GET_64; /* numbers have 64 bits */

	if (!command)
		return false;
	slot->args[LOCK_UNREAD] = !lock_read(slot, command, wide);
	if (slot->args[LOCK_UNREAD]) {
		slot->args[LOCK_LENGTH] = IOTR_UNKNOWN;
		slot->args[LOCK_FLAGS] = command;
	}
	return true;
}

/* Where the range begins in an open file, 0: none. */
static __always_inline __u64 lock_start(const struct slot *slot, __u64 file)
{
	__u64 base = 0;

	if (file && slot->args[LOCK_WHENCE] == 1)
		base = READ(struct file, file, f_pos);
	else if (file && slot->args[LOCK_WHENCE] == 2)
		base = READ(struct inode, READ(struct file, file, f_inode), i_size);
	return base + slot->args[LOCK_START];
}

/* Reads at the end what was not in memory at the start. Returns where the range begins. */
static __always_inline __u64 lock_late(struct slot *slot)
{
	lock_arguments(slot);
	return slot->args[LOCK_UNREAD] ? IOTR_UNKNOWN : lock_start(slot, file_of_fd(current_task(), slot->fd));
}
