/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who caused what a kernel thread does for a stacked device, as disks that encrypt or have parity and loop devices leave
 * their work to one. What is written to or read from such a device is noted by block in the table of spilled.bpf.h, where its
 * number stands for an address_space. When a thread passes a part on, the kernel tells (block_bio_remap) of which
 * block that is. What somebody unknown does with a block takes the note of it away. A loop device's thread writes into a file: there
 * the pages are noted, whose address_space the request leads to. What it reads is noted beside them, by the same address plus 1.
 */
#pragma once

#include "dirtied.bpf.h"

#define BLOCK_SECTORS_SHIFT 3	 /* log2 of the sectors of a block of 4096 bytes */
#define BLOCK_SHIFT	    12
#define STACKED_BLOCKS	    512	 /* maximum of blocks of one bio or request that are noted */
#define REMAPPED	    4096 /* entries, a power of two */
#define LOOP_MAJOR	    7
#define LOOP_DIRECT	    16 /* in lo_flags: it does direct I/O, with the pages that it was given */
#define TMPFS_MAGIC	    0x01021994

/* Where a dirtier is put together, as the stack has no room: each is used by one hook, and so by one program of a CPU at a time. */
enum {
	KEEP_BIO,
	KEEP_ISSUE,
	KEEP_COUNT,
};

ARRAY_PER_CPU(dirtiers_fresh, struct dirtier, KEEP_COUNT);

/*
 * Notes a task, of which sessions were judged at a time, as a dirtier, and returns its number; 0: there is no table. The
 * number is the same as long as what rows say of it is.
 */
static __always_inline __u32 dirtier_keep(struct iotr_control *page, __u32 which, const struct actor *actor,
					  __u64 judged_ns)
{
	struct dirtier *dirtier = bpf_map_lookup_elem(&dirtiers_fresh, &which);
	__u32 zero = 0, number = dirtier_number(actor, actor->pid);
	void *table = bpf_map_lookup_elem(&dirtiers, &zero);

	if (!table || !dirtier)
		return 0;
	dirtier->actor = *actor;
	dirtier->judged = page->open;
	dirtier->judged_ns = judged_ns;
	dirtier->start_ns = dirtier->own = 0;
	bpf_map_update_elem(table, &number, dirtier, BPF_ANY);
	return number;
}

/* What rows of a stacked device say of who caused something, as rows of what its threads pass on are to say it, too. */
struct passed {
	__u64 flow;
	__u32 dirtier; /* number of the task */
	__u8 operation; /* number of the row's */
	__u8 attribution; /* enum iotr_attribution */
	__u8 pad[2];
};

#define PASSED 8192 /* of these */

HASH_OF(passed, LRU_HASH, __u32, struct passed, PASSED);

/* Keeps it, and returns the number under which it is kept. A global function. */
__noinline __u32 passed_keep(__u32 dirtier, __u64 flow, __u32 operation, __u32 attribution)
{
	struct passed fresh = { .flow = flow, .dirtier = dirtier, .operation = operation, .attribution = attribution };
	__u32 number = iotr_mix(iotr_mix((__u64)dirtier << 32 | operation << 8 | attribution, flow), 0) >> 32 ?: 1;

	if (!bpf_map_lookup_elem(&passed, &number))
		bpf_map_update_elem(&passed, &number, &fresh, BPF_ANY);
	return number;
}

/* By a hash of its address: a bio that was passed on, and the number of what is known of it. */
struct remapped {
	__u64 bio;
	__u32 number;
	__u32 pad;
};

ARRAY_OF(remapped, struct remapped, REMAPPED, 0);

static __always_inline struct remapped *remapped_entry(__u64 bio)
{
	__u32 at = iotr_mix(0, low_half(bio)) >> 16 & (REMAPPED - 1);

	return bpf_map_lookup_elem(&remapped, &at);
}

/* The number of what is known of a bio that was passed on, or 0. */
static __always_inline __u32 remapped_take(__u64 bio)
{
	struct remapped *entry = remapped_entry(bio);

	if (!entry || entry->bio != bio)
		return 0;
	entry->bio = 0;
	return entry->number;
}

/* A bio is passed on of what was at a sector of a device. A global function. */
__noinline int bio_remapped(__u64 bio, __u32 device, __u64 sector)
{
	struct iotr_control *page = control_page();
	struct remapped *entry = remapped_entry(bio);
	struct task_struct *task = current_task();
	__u32 number;

	/* Parity is passed on as if it were of sector 0. */
	if (!page || !entry || !sector || !(FOLLOW(task, flags) & PF_KTHREAD))
		return 0;
	number = spilled_by(page, device, sector >> BLOCK_SECTORS_SHIFT);
	if (!number)
		return 0;
	entry->bio = bio;
	entry->number = number;
	return 0;
}

SEC("tp_btf/block_bio_remap")
int BPF_PROG(bio_remap__3, struct bio *bio, __u32 device, __u64 sector)
{
	return bio_remapped(number_of((__u64)bio), device, sector);
}

SEC("tp_btf/block_bio_remap")
int BPF_PROG(bio_remap__4, struct request_queue *queue, struct bio *bio, __u32 device, __u64 sector)
{
	return bio_remapped(number_of((__u64)bio), device, sector);
}

/*
 * Notes who caused what is done with blocks of a device: one by one, as several CPUs may do so at once. They may give way to
 * any others. 0: that is not known. A global function.
 */
__noinline int blocks_note(__u64 device, __u64 first, __u32 blocks, __u32 number)
{
	for (__u32 i = 0; i < STACKED_BLOCKS && i < blocks; i++)
		if (number)
			spilled_put(device, first + i, number, true);
		else
			spilled_drop(device, first + i);
	return 0;
}

/* Blocks that bytes from a position on lie in. */
static __always_inline __u32 blocks_of(__u64 position, __u32 bytes)
{
	return ((position + bytes + (1 << BLOCK_SHIFT) - 1) >> BLOCK_SHIFT) - (position >> BLOCK_SHIFT);
}

/* The address_space of the file that a loop device writes a request to, through the page cache; 0: none. Sets where. */
static __always_inline __u64 loop_mapping(const struct iotr_control *page, __u64 queue, __u64 *offset)
{
	__u64 loop = ADDRESS(struct request_queue, queue, queuedata), file, mapping, inode;

	if (!loop || !page->loop.file || (__u32)address_at(loop + page->loop.flags) & LOOP_DIRECT)
		return 0;
	file = address_at(loop + page->loop.file);
	mapping = file ? ADDRESS(struct file, file, f_mapping) : 0;
	inode = mapping ? ADDRESS(struct address_space, mapping, host) : 0;
	if (!inode || READ(struct super_block, READ(struct inode, inode, i_sb), s_magic) == TMPFS_MAGIC)
		return 0;
	*offset = address_at(loop + page->loop.offset);
	return mapping;
}

/* Of the notes of what is read of a file, by pages: that of what was read last, for what is read ahead of it. */
#define READ_LAST (~0ULL)

static __always_inline __u64 loop_reads(__u64 mapping)
{
	return mapping + 1;
}

/* Notes what is known of a read of a loop device, 0: nothing, before its thread does it. A global function. */
__noinline int loop_read_note(__u64 queue, __u64 sector, __u32 bytes, __u32 number)
{
	struct iotr_control *page = control_page();
	__u64 offset = 0, mapping = page ? loop_mapping(page, queue, &offset) : 0;

	if (!mapping)
		return 0;
	offset += sector << 9;
	blocks_note(loop_reads(mapping), READ_LAST, 1, number);
	return blocks_note(loop_reads(mapping), offset >> BLOCK_SHIFT, blocks_of(offset, bytes), number);
}

/* The number of what is known of a read that a thread of a loop device queues, for a page of the file below, or 0. A global function. */
__noinline __u32 loop_read_taken(__u64 mapping, __u64 index, bool ahead)
{
	struct iotr_control *page = control_page();

	if (!page)
		return 0;
	return spilled_by(page, loop_reads(mapping), index) ?: (ahead ? spilled_by(page, loop_reads(mapping), READ_LAST) : 0);
}

/*
 * The address of the request of a loop device whose direct I/O on the file below a bio is; that of anything else, or 0, if it is not:
 * the driver has its data, with the struct kiocb, behind the request.
 */
static __always_inline __u64 loop_request(const struct iotr_control *page, __u64 bio)
{
	__u64 iocb = page->loop.file ? iocb_of(bio) : 0;

	return iocb ? iocb - page->loop.command - bpf_core_type_size(struct request) : 0;
}

/* Notes who caused a write to a loop device, before its thread does it. A global function. */
__noinline int loop_note(__u64 queue, __u64 sector, __u32 bytes, __u32 number)
{
	struct iotr_control *page = control_page();
	__u64 offset = 0, mapping = page ? loop_mapping(page, queue, &offset) : 0;

	if (!mapping)
		return 0;
	offset += sector << 9;
	bytes = blocks_of(offset, bytes);
	return dirtied_put_all(mapping, offset >> BLOCK_SHIFT, number, bytes > STACKED_BLOCKS ? STACKED_BLOCKS : bytes);
}
