/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writeback and reclaim, whose rows are written at once, not at the end of a system call. */
#pragma once

#include "blockdev.bpf.h"
#include "cache_runs.bpf.h"

#define REQUEST_BIOS 1024 /* maximum of bios of one request that are looked at */

#define BIO_CLONED   (1 << 1)

/* A bio of writeback in flight. */
struct writeback {
	struct actor actor;
	struct cached cached;
	__u64 first_page; /* address of its struct page */
	__u64 index;
	__u64 count;
	__u64 sessions;
	__u64 start_ns;
	__u64 flow; /* of the call in which the bio was queued, 0: none is known */
};

HASH_OF(writebacks, HASH, __u64, struct writeback, IOTR_BIOS);

static __always_inline void writeback_lost(struct iotr_control *page, const struct writeback *back)
{
	row_unended(page, IOTR_CACHE, back->sessions & wanted(page, IOTR_CACHE_WRITEBACK_END), back->start_ns);
}

static __always_inline void emit_for(struct iotr_control *page, const struct writeback *back, __u32 operation)
{
	__u64 now = bpf_ktime_get_ns(), sessions = back->sessions & wanted(page, operation);
	struct iotr_cache_record *row;

	sessions = filter_begun(page, sessions, back->start_ns);
	sessions = filter_end(page, sessions, 0, back->count << PAGE_SHIFT, false);
	if (!sessions)
		return;
	row = row_begin(IOTR_CACHE, operation, sizeof(*row), sessions);
	if (!row)
		return;
	head_fill(&row->head, sessions, now, now);
	actor_head(&row->head, &back->actor);
	row_fill(row, &back->cached, back->index, back->count, back->flow);
	row_commit(row);
}

/*
 * Fills in the pages of a bio if they belong to a file and are under writeback; false for direct I/O and
 * for what no session accepts.
 */
static __always_inline bool bio_pages(struct iotr_control *page, struct bio *bio,
				      struct writeback *back)
{
	__u64 size = READ(struct bio, bio, bi_iter.bi_size), first = bio_first_page(bio);
	__u64 head, mapping, inode, by;

	if (!first || !size)
		return false;
	by = carried_by(number_of((__u64)bio));
	if (by != CARRIED_CACHE && by != CARRIED_UNTOLD)
		return false;
	head = page_folio(first);
	if (!folio_in_transfer(head, false))
		return false;
	mapping = folio_mapping(head);
	inode = mapping ? ADDRESS(struct address_space, mapping, host) : 0;
	if (!cached_fill(inode, &back->cached))
		return false;
	back->sessions = filter_device(page, back->sessions, back->cached.file.device);
	back->sessions = filter_inode(page, back->sessions,
				      back->cached.file.inode == IOTR_UNKNOWN ? 0 : inode);
	if (!back->sessions)
		return false;
	if (back->cached.file.inode != IOTR_UNKNOWN)
		back->cached.file.name = name_of_inode(inode);
	back->first_page = first;
	back->index = folio_index(head) + (first - head) / bpf_core_type_size(struct page) +
		      (READ(struct bio_vec, READ(struct bio, bio, bi_io_vec), bv_offset) >> PAGE_SHIFT);
	back->count = (size + PAGE_BYTES - 1) >> PAGE_SHIFT;
	return true;
}

/* A bio that writes. One that a stacked device cloned from another one is not counted as writeback again. */
static __always_inline int bio_queued(struct bio *bio, __u64 thread)
{
	struct iotr_control *page = control_page();
	struct writeback back = {}, *before;
	__u64 key = (__u64)bio;

	if (!page || FOLLOW(bio, bi_flags) & BIO_CLONED)
		return 0;
	back.sessions = filter_current(page, wanted(page, IOTR_CACHE_WRITEBACK_START) |
						     wanted(page, IOTR_CACHE_WRITEBACK_END));
	back.sessions = sample(page, IOTR_CACHE, back.sessions); /* one draw for the rows of start and end */
	if (!back.sessions || !bio_pages(page, bio, &back))
		return 0;
	actor_current(&back.actor);
	back.start_ns = bpf_ktime_get_ns();
	back.flow = flow_of(page, thread, back.start_ns);
	before = bpf_map_lookup_elem(&writebacks, &key);
	if (before) /* its end was not seen */
		writeback_lost(page, before);
	if (bpf_map_update_elem(&writebacks, &key, &back, BPF_ANY))
		writeback_lost(page, &back);
	emit_for(page, &back, IOTR_CACHE_WRITEBACK_START);
	return 0;
}

/* This and cache_rq_complete go on from those of BLOCK: see block.bpf.c. */
QUEUE_HOOK(cache_bio_queue, block_bio_queue, struct bio *bio, bio_queued(bio, thread_at(ctx)))

/*
 * A global function. If the first page is another, this bio has the address of one
 * whose end was not seen.
 */
__noinline int bio_ended(__u64 bio)
{
	struct iotr_control *page = control_page();
	struct writeback *back = bpf_map_lookup_elem(&writebacks, &bio);

	if (!page || !back)
		return 0;
	if (bio_first_page((struct bio *)bio) == back->first_page)
		emit_for(page, back, IOTR_CACHE_WRITEBACK_END);
	else
		writeback_lost(page, back);
	bpf_map_delete_elem(&writebacks, &bio);
	return 0;
}

/* For bios of devices without requests. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(cache_bio_complete, struct request_queue *queue, struct bio *bio)
{
	return bio_ended(argument_address(ctx, 1));
}

/* For all others, of requests that write; the request still has its bios here. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(cache_rq_complete, struct request *request, int error, unsigned int bytes)
{
	__u64 bio = ADDRESS(struct request, request, bio);

	for (int i = 0; i < REQUEST_BIOS && bio; i++) {
		__u32 size = READ(struct bio, bio, bi_iter.bi_size);

		if (bytes < size)
			break;
		bytes -= size;
		bio_ended(bio);
		bio = ADDRESS(struct bio, bio, bi_next);
	}
	return 0;
}

/* One pass over the inactive list, which has pages of any file: the row names none. */
SEC("tp_btf/mm_vmscan_lru_shrink_inactive")
int BPF_PROG(cache_reclaim, int node, unsigned long scanned, unsigned long reclaimed, void *stat,
	     int priority, int file)
{
	struct iotr_control *page = control_page();
	struct writeback back = {};

	if (!page || !reclaimed || !file)
		return 0;
	back.sessions = filter_current(page, wanted(page, IOTR_CACHE_RECLAIM));
	back.sessions = filter_fileless(page, back.sessions);
	back.sessions = sample(page, IOTR_CACHE, back.sessions);
	if (!back.sessions)
		return 0;
	actor_current(&back.actor);
	back.start_ns = bpf_ktime_get_ns();
	back.cached.file.inode = back.cached.size = back.index = IOTR_UNKNOWN;
	back.count = reclaimed;
	emit_for(page, &back, IOTR_CACHE_RECLAIM);
	return 0;
}
