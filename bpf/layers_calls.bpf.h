/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layer APPLICATION: system calls that read and write files. Everything is found out when a call ends: its registers
 * still have its arguments then, and the result is known. Its beginning is noted for some calls alone, for the latency.
 */
#pragma once

#include "call_numbers.h"
#include "context.bpf.h"
#include "layers_account.bpf.h"
#include "signals.bpf.h"

#define LAYER_THREADS	 4096 /* that have an entry, at most; a power of two */
#define LAYER_AIO_MAX	 64   /* operations of one io_submit that are looked at */
#define PAGE_SHIFT_COUNT 12

#define O_DSYNC_FLAG  010000
#define S_IFBLK	      0060000
#define S_DAX_FLAG    (1 << 13)

/* What a call does: positions of the descriptors that it reads from and writes to, from 1, and what else it is. */
#define READS(argument)	 (argument)
#define WRITES(argument) ((argument) << 3)
#define SYNCS		 (1 << 6)
#define SUBMITS		 (1 << 7)

#define COMPAT(kind) ((kind) << 8)

/* By number: what the call of the native ABI does, and by COMPAT that of 32-bit programs. No number is of both. */
static const volatile __u16 call_kinds[IOTR_CALLS] = {
	[NR_read] = READS(1),
	[NR_pread64] = READS(1),
	[NR_readv] = READS(1),
	[NR_preadv] = READS(1),
	[NR_preadv2] = READS(1),
	[NR_write] = WRITES(1),
	[NR_pwrite64] = WRITES(1),
	[NR_writev] = WRITES(1),
	[NR_pwritev] = WRITES(1),
	[NR_pwritev2] = WRITES(1),
	[NR_sendfile64] = READS(2) | WRITES(1),
	[NR_splice] = READS(1) | WRITES(3),
	[NR_copy_file_range] = READS(1) | WRITES(3),
	[NR_fsync] = SYNCS,
	[NR_fdatasync] = SYNCS,
	[NR_sync] = SYNCS,
	[NR_syncfs] = SYNCS,
	[NR_msync] = SYNCS,
	[NR_sync_file_range] = SYNCS,
	[NR_io_submit] = SUBMITS,
	[NR32_read] = COMPAT(READS(1)),
	[NR32_ia32_pread64] = COMPAT(READS(1)),
	[NR32_readv] = COMPAT(READS(1)),
	[NR32_ia32_preadv] = COMPAT(READS(1)),
	[NR32_ia32_preadv2] = COMPAT(READS(1)),
	[NR32_write] = COMPAT(WRITES(1)),
	[NR32_ia32_pwrite64] = COMPAT(WRITES(1)),
	[NR32_writev] = COMPAT(WRITES(1)),
	[NR32_ia32_pwritev] = COMPAT(WRITES(1)),
	[NR32_ia32_pwritev2] = COMPAT(WRITES(1)),
	[NR32_sendfile] = COMPAT(READS(2) | WRITES(1)),
	[NR32_sendfile64] = COMPAT(READS(2) | WRITES(1)),
	[NR32_splice] = COMPAT(READS(1) | WRITES(3)),
	[NR32_copy_file_range] = COMPAT(READS(1) | WRITES(3)),
	[NR32_fsync] = COMPAT(SYNCS),
	[NR32_fdatasync] = COMPAT(SYNCS),
	[NR32_sync] = COMPAT(SYNCS),
	[NR32_syncfs] = COMPAT(SYNCS),
	[NR32_msync] = COMPAT(SYNCS),
	[NR32_ia32_sync_file_range] = COMPAT(SYNCS),
	[NR32_ia32_io_submit] = COMPAT(SUBMITS),
};

/* What a call of the ABI does; 0: nothing that counts. */
static __always_inline __u8 kind_of(__u64 number, bool compat)
{
	__u16 kinds = call_kinds[call_index(number)];

	return compat ? kinds >> 8 : kinds;
}

/* The account that a thread counted on last, and when its call in flight began. */
struct layer_thread {
	__u64 thread;
	__u64 begin_ns; /* 0: not noted */
	__u64 start_ns; /* when the thread itself was started */
	__u64 broken_ns; /* when a call began that was interrupted, and may begin once more: see restarts.bpf.h; 0: none */
	__u64 broken_at; /* its stack pointer of user space */
	__u64 where;	/* the super block or block device of the file */
	__u32 index;	/* of the account; IOTR_LAYER_OTHER: there is none yet */
	__u32 device;
	__u32 untimed; /* calls until the next one whose beginning is noted, which is at 0 */
	__u32 faults;  /* it is handling a fault on the page below */
	__u32 missed;  /* a page was added to the cache for the call whose beginning is noted */
	__u32 pad;
	__u64 fault_mapping;
	__u64 fault_index;
};

/* Direct mapped: a thread that finds another one's entry takes it over, which loses no more than a latency. */
ARRAY_OF(layer_threads, struct layer_thread, LAYER_THREADS, 0);

static __always_inline struct layer_thread *thread_slot(__u64 thread)
{
	__u32 index = (__u32)((thread * 0x9e3779b97f4a7c15ULL) >> 40) & (LAYER_THREADS - 1);

	return bpf_map_lookup_elem(&layer_threads, &index);
}

/* The thread's entry, emptied if it was another one's; NULL never happens, but the verifier does not know. */
static __always_inline struct layer_thread *thread_take(__u64 thread)
{
	struct layer_thread *slot = thread_slot(thread);

	if (!slot || slot->thread == thread)
		return slot;
	slot->thread = thread;
	slot->begin_ns = slot->start_ns = slot->broken_ns = slot->fault_mapping = 0;
	slot->faults = slot->untimed = 0;
	return slot;
}

/* ---- files ---- */

/* Whether a super block's regular files are no user's. A global function. */
__noinline int pseudo_super(__u64 sb)
{
	return pseudo_magic(READ(struct super_block, sb, s_magic));
}

#define NO_ACCOUNT 0xffffffffU /* the file does not count */

/*
 * The account of the current process and a file: a regular one, by its super block, or a block device, by its number.
 * Notes it in the thread's entry. A global function.
 */
__noinline __u32 account_look(__u64 thread, __u64 where, __u32 block)
{
	struct layer_thread *slot = thread_take(thread);
	__u32 index = NO_ACCOUNT, device;

	device = block ? (__u32)where : READ(struct super_block, where, s_dev);
	if (block || !pseudo_super(where))
		index = account_current(device);
	if (!slot || index == IOTR_LAYER_OTHER)
		return index;
	if (slot->start_ns != FOLLOW(current_task(), start_boottime))
		slot->begin_ns = 0; /* of an earlier thread, which ended in its call */
	slot->start_ns = FOLLOW(current_task(), start_boottime);
	slot->where = where;
	slot->index = index;
	slot->device = device;
	return index;
}

/* What a file is counted under, to compare with the `where` of a thread; 0: it does not count. */
static __always_inline __u64 where_of(__u64 inode, bool *block)
{
	__u32 kind = READ(struct inode, inode, i_mode) & S_IFMT;

	*block = kind == S_IFBLK;
	if (kind == S_IFREG)
		return ADDRESS(struct inode, inode, i_sb);
	return kind == S_IFBLK ? READ(struct inode, inode, i_rdev) : 0;
}

/* The account of an inode for the current process, or NO_ACCOUNT. `slot` is the thread's. */
static __always_inline __u32 account_at(struct layer_thread *slot, __u64 thread, struct task_struct *task, __u64 inode)
{
	bool block;
	__u64 where = where_of(inode, &block);

	if (!where)
		return NO_ACCOUNT;
	if (slot->where == where && slot->start_ns == FOLLOW(task, start_boottime))
		return slot->index;
	return account_look(thread, number_of(where), block);
}

/* ---- reads from the page cache ---- */

static __always_inline __u64 position_user(__u64 pointer)
{
	__u64 position = IOTR_UNKNOWN;

	if (pointer)
		bpf_probe_read_user(&position, sizeof(position), (void *)pointer);
	return position;
}

/* Where a read of the native ABI has ended; IOTR_UNKNOWN: at the position of the file. */
static __always_inline __u64 read_end(const struct pt_regs *regs, __u64 number, __u64 bytes)
{
	switch (number) {
	case NR_pread64:
	case NR_preadv:
	case NR_preadv2:
		if (number == NR_preadv2 && READ(struct pt_regs, regs, r10) == IOTR_UNKNOWN)
			return IOTR_UNKNOWN;
		return READ(struct pt_regs, regs, r10) + bytes;
	case NR_sendfile64:
		return position_user(READ(struct pt_regs, regs, dx));
	case NR_splice:
		return position_user(READ(struct pt_regs, regs, si));
	default:
		return IOTR_UNKNOWN;
	}
}

static __always_inline bool is_cached(__u64 file, __u64 inode)
{
	return !(READ(struct file, file, f_flags) & O_DIRECT) && !(READ(struct inode, inode, i_flags) & S_DAX_FLAG);
}

/*
 * Counts the pages that a read has returned as hits: what it missed of them was taken off when that was added to the
 * cache. A global function.
 */
__noinline int hits_count(__u32 index, __u64 file, __u64 end, __u64 bytes)
{
	__u64 inode = ADDRESS(struct file, file, f_inode), pages;

	if (!is_cached(file, inode))
		return 0;
	if (end == IOTR_UNKNOWN)
		end = READ(struct file, file, f_pos);
	if (end < bytes)
		end = bytes;
	pages = ((end + (1 << PAGE_SHIFT_COUNT) - 1) >> PAGE_SHIFT_COUNT) - ((end - bytes) >> PAGE_SHIFT_COUNT);
	COUNT_LAYER(index, IOTR_LAYER_CACHE_HIT, pages, pages << PAGE_SHIFT_COUNT);
	return 0;
}

/* ---- calls ---- */

/* Counts may be interrupted by those of another thread where the kernel preempts programs. */
#define ADD_HERE(member, value)                                                                 \
	do {                                                                                    \
		if (preempted)                                                                  \
			__sync_fetch_and_add(&(member), value);                                 \
		else                                                                            \
			(member) += (value);                                                    \
	} while (0)

static __always_inline void latency_count(struct iotr_layer_counts *counts, __u32 layer, __u64 begin_ns)
{
	__u64 latency = bpf_ktime_get_ns() - begin_ns;
	__u32 bucket = bucket_of(latency);

	ADD_HERE(counts->latency_ns[layer], latency);
	ADD_HERE(counts->latency[layer][bucket], 1);
}

static __always_inline void result_count(struct iotr_layer_sum *sum, long result)
{
	ADD_HERE(sum->operations, 1);
	if (result > 0)
		ADD_HERE(sum->bytes, (__u64)result);
	else if (result < 0)
		ADD_HERE(sum->errors, 1);
}

/* An argument of a call by its position, from 1 to 3. */
static __always_inline __u32 descriptor(const struct pt_regs *regs, __u32 argument, bool compat)
{
	if (argument == 1)
		return compat ? READ(struct pt_regs, regs, bx) : READ(struct pt_regs, regs, di);
	if (argument == 2)
		return compat ? READ(struct pt_regs, regs, cx) : READ(struct pt_regs, regs, si);
	return READ(struct pt_regs, regs, dx);
}

#define END_UNCOUNTED 0 /* in the place of where a read has ended: it counts no hits */

/* Counts what a call has read from or written to one of its files. `end` as hits_count() has it. A global function. */
__noinline int other_file(__u64 thread, __u32 fd, __u32 writes, __s64 result, __u64 end)
{
	struct task_struct *task = current_task();
	struct layer_thread *slot = thread_take(thread);
	__u64 file = file_of_fd(task, fd);
	struct iotr_layer_counts *counts;
	__u32 index;

	if (!slot || !file)
		return 0;
	index = account_at(slot, thread, task, ADDRESS(struct file, file, f_inode));
	counts = index == NO_ACCOUNT ? NULL : counts_of(index);
	if (!counts)
		return 0;
	if (writes)
		result_count(&counts->sums[IOTR_LAYER_APP_WRITE], result);
	else
		result_count(&counts->sums[IOTR_LAYER_APP_READ], result);
	if (!writes && result > 0 && end != END_UNCOUNTED)
		hits_count(index, number_of(file), end, result);
	return 0;
}

/* Counts a call that writes back what is dirty, of no file in particular. A global function. */
__noinline int sync_ended(__u64 thread, __u32 fd, __s64 result)
{
	struct task_struct *task = current_task();
	struct layer_thread *slot = thread_take(thread);
	__u64 file = fd == NO_ACCOUNT ? 0 : file_of_fd(task, fd), begin;
	struct iotr_layer_counts *counts;
	__u32 index = NO_ACCOUNT;

	if (!slot)
		return 0;
	begin = slot->begin_ns;
	if (file)
		index = account_at(slot, thread, task, ADDRESS(struct file, file, f_inode));
	else if (fd == NO_ACCOUNT) /* sync and msync name no file */
		index = account_current(0);
	counts = index == NO_ACCOUNT ? NULL : counts_of(index);
	if (!counts)
		return 0;
	result_count(&counts->sums[IOTR_LAYER_APP_SYNC], result < 0 ? result : 0);
	if (begin)
		latency_count(counts, IOTR_LAYER_APP_SYNC, begin);
	slot->begin_ns = slot->broken_ns = 0;
	return 0;
}

/* Members of struct iocb, as far as they are read: what is to be done, and after eight more bytes to how many. */
struct aio_head {
	__u16 opcode;
	__s16 priority;
	__u32 fd;
};

#define AIO_HEAD  16 /* byte offsets in struct iocb */
#define AIO_BYTES 32

#define AIO_READS  (1 << 0 | 1 << 7) /* opcodes, as bits: PREAD and PREADV */
#define AIO_WRITES (1 << 1 | 1 << 8)
#define AIO_SYNCS  (1 << 2 | 1 << 3)

/* Counts one operation that io_submit has accepted; what becomes of it is not known. A global function. */
__noinline int aio_submitted(__u64 thread, __u64 array, __u32 position, __u32 compat)
{
	struct aio_head head = {};
	__u64 user = 0;
	__u32 bit;

	if (bpf_probe_read_user(&user, compat ? 4 : 8, (void *)(array + (__u64)position * (compat ? 4 : 8))) ||
	    bpf_probe_read_user(&head, sizeof(head), (void *)user + AIO_HEAD))
		return 0;
	bit = 1U << (head.opcode & 15);
	if (head.opcode < 16 && bit & AIO_SYNCS)
		sync_ended(thread, head.fd, 0);
	if (head.opcode >= 16 || !(bit & (AIO_READS | AIO_WRITES)))
		return 0;
	if (bit & (1 << 7 | 1 << 8)) /* vectors: their bytes are in a user's array, too */
		user = 0;
	else if (bpf_probe_read_user(&user, sizeof(user), (void *)user + AIO_BYTES))
		return 0;
	return other_file(thread, head.fd, !!(bit & AIO_WRITES), user, END_UNCOUNTED);
}

__noinline int aio_submits(__u64 thread, __u64 array, __s64 accepted, __u32 compat)
{
	for (__u32 i = 0; i < LAYER_AIO_MAX && (__s64)i < accepted; i++)
		aio_submitted(thread, array, i, compat);
	return 0;
}

/* A call that does something else than to read or to write one file. A global function. */
__noinline int rare_ended(__u64 thread, __u64 registers, __u32 kind, __u32 compat, __s64 result)
{
	const struct pt_regs *regs = (void *)registers;
	__u64 number = READ(struct pt_regs, regs, orig_ax);

	if (kind & SUBMITS)
		return aio_submits(thread, READ(struct pt_regs, regs, dx), result, compat);
	if (kind & SYNCS) {
		bool fileless = compat ? number == NR32_sync || number == NR32_msync :
					 number == NR_sync || number == NR_msync;

		return sync_ended(thread, fileless ? NO_ACCOUNT : descriptor(regs, 1, compat), result);
	}
	other_file(thread, descriptor(regs, kind & 7, compat), 0, result,
		   compat || number == NR_copy_file_range ? END_UNCOUNTED : read_end(regs, number, result));
	other_file(thread, descriptor(regs, kind >> 3 & 7, compat), 1, result, END_UNCOUNTED);
	return 0;
}

/* A call whose beginning was noted is interrupted. A global function. */
__noinline int call_breaks(__u64 thread)
{
	struct layer_thread *slot = thread_slot(thread);

	if (!slot || slot->thread != thread || !slot->begin_ns)
		return 0;
	slot->broken_ns = slot->begin_ns;
	slot->broken_at = REGISTER(user_registers(), sp);
	return 0;
}

/* Whether the call that begins is one that was interrupted: it has begun then. */
static __always_inline bool call_goes_on(struct layer_thread *slot)
{
	if (!slot->broken_ns || slot->broken_at != REGISTER(user_registers(), sp))
		return false;
	slot->begin_ns = slot->broken_ns;
	slot->broken_ns = 0;
	return true;
}

/* A call begins: notes when, if its latency is to be counted. */
static __always_inline int call_begins(__u64 number, __u64 thread)
{
	struct layer_thread *slot;
	__u16 kinds;

	if (number >= IOTR_CALLS)
		return 0;
	kinds = call_kinds[call_index(number)];
	if (!kinds)
		return 0;
	slot = thread_slot(thread);
	if (slot && slot->untimed && !(kinds & (SYNCS | COMPAT(SYNCS)))) {
		slot->begin_ns = 0; /* of a call that was not counted when it ended */
		return 0;
	}
	slot = thread_take(thread);
	if (slot && !call_goes_on(slot)) {
		slot->missed = 0;
		slot->begin_ns = bpf_ktime_get_ns();
	}
	return 0;
}

/* Counts the latency of a call for the cache, if the file goes through it. A global function. */
__noinline int cache_timed(__u32 index, __u64 file, __u32 layer, __u64 begin_ns)
{
	struct iotr_layer_counts *counts = counts_of(index);

	if (!counts || !is_cached(file, ADDRESS(struct file, file, f_inode)))
		return 0;
	if (layer == IOTR_LAYER_CACHE_HIT)
		latency_count(counts, IOTR_LAYER_CACHE_HIT, begin_ns);
	else if (layer == IOTR_LAYER_CACHE_MISS)
		latency_count(counts, IOTR_LAYER_CACHE_MISS, begin_ns);
	else if (!(READ(struct file, file, f_flags) & O_DSYNC_FLAG)) /* otherwise it did not end in the cache */
		latency_count(counts, IOTR_LAYER_CACHE_DIRTIED, begin_ns);
	return 0;
}

/* The latency of a call that reads or writes is counted if its beginning was noted. Returns that; 0: it was not. */
static __always_inline __u64 call_timed(struct layer_thread *slot, struct iotr_layer_counts *counts, __u32 layer)
{
	__u64 begin_ns = slot->begin_ns;

	if (slot->untimed)
		slot->untimed--;
	if (!begin_ns)
		return 0;
	latency_count(counts, layer, begin_ns);
	slot->begin_ns = slot->broken_ns = 0;
	slot->untimed = IOTR_LAYER_TIMED_ONE - 1;
	return begin_ns;
}

/* A call ends. `regs` are those that user space entered the kernel with, of which `di` and `bx` are two. */
static __always_inline int call_ends_at(struct pt_regs *regs, __u64 di, __u64 bx, __u64 number, __u64 thread, long result)
{
	struct iotr_layer_counts *counts;
	struct layer_thread *slot;
	struct task_struct *task;
	__u64 file, inode, begin_ns;
	__u32 index;
	__u8 kind;
	bool compat;

	if (number >= IOTR_CALLS)
		return 0;
	if (!call_kinds[call_index(number)])
		return 0;
	if (restarts(result))
		return call_breaks(thread);
	task = current_task();
	compat = abi_of(task) == IOTR_ABI_COMPAT;
	kind = kind_of(number, compat);
	if (kind & (SYNCS | SUBMITS) || (kind & 7 && kind >> 3))
		return rare_ended(thread, number_of((__u64)regs), kind, compat, result);
	if (!kind)
		return 0;
	file = file_of_fd(task, compat ? bx : di);
	slot = thread_take(thread);
	if (!file || !slot)
		return 0;
	inode = ADDRESS(struct file, file, f_inode);
	index = account_at(slot, thread, task, inode);
	counts = index == NO_ACCOUNT ? NULL : counts_of(index);
	if (!counts)
		return 0;
	if (kind & READS(1)) {
		result_count(&counts->sums[IOTR_LAYER_APP_READ], result);
		begin_ns = call_timed(slot, counts, IOTR_LAYER_APP_READ);
		if (begin_ns && result > 0)
			cache_timed(index, number_of(file), slot->missed ? IOTR_LAYER_CACHE_MISS : IOTR_LAYER_CACHE_HIT,
				    begin_ns);
		if (result > 0)
			hits_count(index, number_of(file), compat ? IOTR_UNKNOWN : read_end(regs, number, result), result);
	} else {
		result_count(&counts->sums[IOTR_LAYER_APP_WRITE], result);
		begin_ns = call_timed(slot, counts, IOTR_LAYER_APP_WRITE);
		if (begin_ns && result > 0)
			cache_timed(index, number_of(file), IOTR_LAYER_CACHE_DIRTIED, begin_ns);
	}
	return 0;
}
