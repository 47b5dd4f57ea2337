/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of io_uring as user space wrote them: submission queue entries. */
#pragma once

#include <stddef.h>

#include "files.bpf.h"

#define IOSQE_FIXED_FILE 0x01 /* the descriptor is an index in the ring's own file table */
#define IOSQE_DRAINS	 0x02 /* waits for all before it */
#define IOSQE_ASYNC	 0x10 /* by a worker */
#define IOSQE_SELECTS	 0x20 /* the kernel chooses the buffer */
#define IOSQE_CQE_SKIP	 0x40 /* no completion unless it fails */
#define IOSQE_ALL	 0x7f /* the lowest bits of the kernel's request flags */

#define CQE_MORE	 (1 << 1)
#define CQE_NOTIFICATION (1 << 3) /* reports that a buffer is free again: not the completion of a request */
#define FD_UNKNOWN	 (-0x7fffffff)

#define IORING_SETUP_IOPOLL	(1 << 0)
#define IORING_SETUP_SQE128	(1 << 10)
#define IORING_SETUP_NO_SQARRAY (1 << 16)

/* struct io_uring_sqe: part of the ABI, the same in every kernel. */
struct uring_entry {
	__u8 opcode;
	__u8 flags;
	__u16 ioprio;
	__s32 fd;
	__u64 offset; /* or second address */
	__u64 address;
	__u32 length;
	__u32 operation_flags;
	__u64 user_data;
	__u16 buffer;
	__u16 personality;
	__u32 file_index; /* index from 1 in the ring's own file table, 0: none */
	__u64 address3;
	__u64 rest;
};

_Static_assert(sizeof(struct uring_entry) == 64, "hole in the entry");

/* An entry of the order in which user space submits: the index of one of the submission queue. */
static __always_inline bool order_read(__u64 address, __u32 *ret)
{
	if (!typed_reads)
		return !bpf_probe_read_kernel(ret, sizeof(*ret), (void *)address);
	*ret = READ(struct io_uring_cqe, address - bpf_core_field_offset(struct io_uring_cqe, flags), flags);
	return true;
}

/* Sets of opcodes, a bit each, as they are below 64: those that read and write any kind of file. */
#define URING_ONE(opcode) (1ULL << IOTR_IOURING_##opcode)
#define URING_READS                                                                               \
	(URING_ONE(READ) | URING_ONE(READV) | URING_ONE(READ_FIXED) | URING_ONE(READV_FIXED) |     \
	 URING_ONE(READ_MULTISHOT))
#define URING_WRITES \
	(URING_ONE(WRITE) | URING_ONE(WRITEV) | URING_ONE(WRITE_FIXED) | URING_ONE(WRITEV_FIXED))
#define URING_VECTORS \
	(URING_ONE(READV) | URING_ONE(WRITEV) | URING_ONE(READV_FIXED) | URING_ONE(WRITEV_FIXED))

/* Frequent ones of which `address` and all that is behind `user_data` make no difference to a row. */
#define URING_SHORT                                                                                        \
	(URING_ONE(NOP) | URING_ONE(READ) | URING_ONE(WRITE) | URING_ONE(READ_FIXED) | URING_ONE(WRITE_FIXED) | \
	 URING_ONE(READ_MULTISHOT) | URING_ONE(FSYNC) | URING_ONE(POLL_ADD) | URING_ONE(SEND) | URING_ONE(RECV))

/* The set of one opcode; empty if the opcode is too large to be in a set. */
static __always_inline __u64 uring_set(__u32 opcode)
{
	return opcode < 64 ? 1ULL << opcode : 0;
}

/*
 * Reads an entry, by typed loads where there are such: the helper would cost three times as much. Of those in URING_SHORT only what
 * is needed is read then.
 */
static __always_inline bool entry_read(__u64 address, struct uring_entry *entry)
{
	__u64 *words = (__u64 *)entry;

	if (!typed_reads)
		return !bpf_probe_read_kernel(entry, sizeof(*entry), (void *)address);
#define ENTRY_WORD(member) words[offsetof(struct uring_entry, member) / 8] = word_at(address + offsetof(struct uring_entry, member))
	ENTRY_WORD(opcode);
	ENTRY_WORD(offset);
	ENTRY_WORD(length);
	ENTRY_WORD(user_data);
	if (uring_set(entry->opcode) & URING_SHORT)
		return true;
	ENTRY_WORD(address);
	ENTRY_WORD(buffer);
	ENTRY_WORD(address3);
#undef ENTRY_WORD
	return true;
}

/* The entry that the kernel took last (back is 1), or one of those before; `head`: cached_sq_head of the ring. */
static __always_inline bool uring_entry(struct io_ring_ctx *ring, __u32 head, __u32 back, struct uring_entry *entry)
{
	__u32 mask = FOLLOW(ring, sq_entries) - 1;
	__u32 index = (head - back) & mask;
	__u32 flags = FOLLOW(ring, flags), size = sizeof(*entry);
	__u64 order = number_of((__u64)FOLLOW(ring, sq_array)), entries = number_of((__u64)FOLLOW(ring, sq_sqes));

	if (!(flags & IORING_SETUP_NO_SQARRAY) && !order_read(order + index * sizeof(index), &index))
		return false;
	if (flags & IORING_SETUP_SQE128)
		size *= 2;
	return entry_read(entries + (__u64)(index & mask) * size, entry);
}

/* Fills in an entry from the request alone, for when user space has already overwritten the entry. */
static __always_inline void entry_of_request(struct io_kiocb *kernel, struct uring_entry *entry)
{
	__builtin_memset(entry, 0, sizeof(*entry));
	entry->opcode = FOLLOW(kernel, opcode);
	entry->flags = FOLLOW(kernel, flags) & IOSQE_ALL;
	entry->offset = IOTR_UNKNOWN;
	entry->fd = FD_UNKNOWN;
	if (HAS_REQUEST_CQE)
		entry->fd = FOLLOW(kernel, cqe.fd);
}

/* Those of which a request has all that a row tells once the kernel has prepared it. */
#define URING_WHOLE \
	(URING_ONE(NOP) | URING_ONE(READ) | URING_ONE(WRITE) | URING_ONE(READ_FIXED) | URING_ONE(WRITE_FIXED))

/*
 * Fills in an entry from the request where that is the same, and costs less than to look for what user space wrote. The kernel sets
 * two of the flags by itself, behind a request that drains.
 */
static __always_inline bool entry_prepared(struct io_kiocb *kernel, __u64 user_data, struct uring_entry *entry)
{
	__u64 whole = typed_reads ? URING_WHOLE : URING_ONE(NOP);
	__u8 opcode = FOLLOW(kernel, opcode);

	if (!HAS_REQUEST_CQE || !(uring_set(opcode) & whole) ||
	    FOLLOW(kernel, flags) & (IOSQE_DRAINS | IOSQE_ASYNC | IOSQE_SELECTS))
		return false;
	entry_of_request(kernel, entry);
	entry->user_data = user_data;
	if (opcode == IOTR_IOURING_NOP) {
		entry->fd = FD_UNKNOWN; /* the request has it where there is a file */
		return true;
	}
	entry->offset = READ(struct io_rw, kernel, kiocb.ki_pos);
	entry->length = READ(struct io_rw, kernel, len);
	entry->address = bpf_core_field_exists(((struct io_rw *)0)->addr) ? READ(struct io_rw, kernel, addr) : IOTR_UNKNOWN;
	return true;
}

static __always_inline void entry_find(struct io_ring_ctx *ring, __u32 head, struct io_kiocb *kernel, __u64 user_data,
				       struct uring_entry *entry)
{
	__u8 opcode = FOLLOW(kernel, opcode);

	if (entry_prepared(kernel, user_data, entry))
		return;
	if (uring_entry(ring, head, 1, entry) && entry->user_data == user_data && entry->opcode == opcode)
		return;
	/* A 128-byte entry takes two indexes. */
	if (uring_entry(ring, head, 2, entry) && entry->user_data == user_data && entry->opcode == opcode &&
	    opcode >= IOTR_IOURING_NOP128)
		return;
	entry_of_request(kernel, entry);
	entry->user_data = user_data;
}

/* Whether a request may have more than one completion. */
static __always_inline bool may_repeat(const struct uring_entry *entry)
{
	switch (entry->opcode) {
	case IOTR_IOURING_POLL_ADD:
		return entry->length & 1;
	case IOTR_IOURING_ACCEPT:
		return entry->ioprio & 1;
	case IOTR_IOURING_SEND:
	case IOTR_IOURING_RECV:
	case IOTR_IOURING_RECVMSG:
		return entry->ioprio & (1 << 1 | 1 << 4); /* multishot, or a bundle of buffers */
	case IOTR_IOURING_TIMEOUT:
		return entry->operation_flags & 1 << 6;
	case IOTR_IOURING_URING_CMD:
	case IOTR_IOURING_URING_CMD128:
		return entry->operation_flags & 1 << 1;
	case IOTR_IOURING_READ_MULTISHOT:
	case IOTR_IOURING_RECV_ZC:
		return true;
	default:
		return false;
	}
}
