/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who caused what is written to and read from a block device: the task that queues it, or who made dirty what it carries,
 * or for whom a journal or a stacked device does it.
 */
#pragma once

#include "block_io.bpf.h"
#include "own_writes.bpf.h"
#include "stacked.bpf.h"
#include "tally.bpf.h"

/* Takes the current task for it. */
static __always_inline void origin_current(struct iotr_control *page, struct block_io *io)
{
	actor_judged(page, &io->actor);
	io->attribution = io->actor.known ? IOTR_ATTRIBUTION_SUBMITTER : IOTR_ATTRIBUTION_UNKNOWN;
}

/* Whether the I/O writes data that may be dirty pages. */
static __always_inline bool writes(const struct block_io *io)
{
	return io->size && (io->operation == IOTR_BLOCK_WRITE || io->operation == IOTR_BLOCK_ZONE_APPEND);
}

/*
 * Sets who made most of the tallied pages dirty, and the file, unless that is known by direct I/O. `submitter`: the thread
 * that issued it.
 */
static __always_inline void origin_tallied(struct iotr_control *page, __u32 which, struct block_io *io, __u32 submitter)
{
	struct tally *tally = bpf_map_lookup_elem(&tallies, &which);
	__u32 most = tally_most(which);
	struct dirtier *dirtier;

	io->attribution = IOTR_ATTRIBUTION_UNKNOWN;
	if (!tally || most >= TALLIED_MAX)
		return;
	dirtier = dirtier_find(tally->of[most].dirtier);
	if (!dirtier)
		return;
	io->actor = dirtier->actor;
	io->actor.accepted = dirtier_accepted(page, dirtier);
	io->dirtiers = tally->head.count + !!tally->head.others;
	io->alone = tally->head.count == 1 && !tally->head.unknown;
	if (tally->head.count > 1)
		io->attribution = IOTR_ATTRIBUTION_SHARED;
	else if (io->actor.known)
		io->attribution = io->actor.tid == submitter ? IOTR_ATTRIBUTION_SUBMITTER : IOTR_ATTRIBUTION_DIRTIER;
	if (io->file.open)
		return;
	file_of_inode(ADDRESS(struct address_space, tally->of[most].mapping, host), &io->file);
	io_seen(page, &io->file);
}

/* Sets what is kept under the number of a dirtier; false: nothing is. */
static __always_inline bool origin_of_number(struct iotr_control *page, struct block_io *io, __u32 number)
{
	struct dirtier *dirtier = number ? dirtier_find(number) : NULL;

	if (!dirtier)
		return false;
	io->actor = dirtier->actor;
	io->actor.accepted = dirtier_accepted(page, dirtier);
	return true;
}

/* The number of what is known of a read of a page that a kernel thread queues, or 0. */
static __always_inline __u32 read_passed(struct bio *bio)
{
	__u64 first = bio_first_page(bio);
	struct page_place place;

	if (!first)
		return 0;
	place = place_of_page(first);
	if (!place.mapping)
		return 0;
	return loop_read_taken(place.mapping, place.index,
			       READ(struct bio, bio, bi_opf) >> bpf_core_enum_value(enum req_flag_bits, __REQ_RAHEAD) & 1);
}

/* Takes over what is known of the direct I/O of a loop device that a kernel thread does on the file below. */
static __always_inline void origin_loop(const struct iotr_control *page, struct bio *bio, struct block_io *io)
{
	__u64 request = loop_request(page, number_of((__u64)bio));
	const struct block_io *above = request ? request_find(request) : NULL;

	if (!above || above->disk >> MINOR_BITS != LOOP_MAJOR || !above->actor.known)
		return;
	io->actor = above->actor;
	io->attribution = above->attribution;
	io->dirtiers = above->dirtiers;
	io->flow = above->flow;
}

/*
 * Takes over what is known of a bio that a kernel thread passes on, for a stacked device or for one that is a file. What is done for
 * another operation, as reads are for parity, is of the task that asked for that one.
 */
static __always_inline void origin_passed(struct iotr_control *page, struct bio *bio, struct block_io *io)
{
	__u32 number = remapped_take((__u64)bio);
	struct passed *known;

	if (!number && io->operation == IOTR_BLOCK_READ)
		number = read_passed(bio);
	known = number ? bpf_map_lookup_elem(&passed, &number) : NULL;
	if (!known) {
		origin_loop(page, bio, io);
		return;
	}
	if (known->operation != io->operation && io->operation != IOTR_BLOCK_READ && io->operation != IOTR_BLOCK_WRITE)
		return;
	if (!origin_of_number(page, io, known->dirtier))
		return;
	io->attribution = known->operation == io->operation ? known->attribution : IOTR_ATTRIBUTION_SUBMITTER;
	io->flow = known->flow;
}

/*
 * Sets the flow of a bio that a kernel thread, or another call, writes of a file system's log, as a call asked for it. Sessions that
 * accept that call's task have its row, too. Returns the number of the task; 0: it is of no such call.
 */
static __always_inline __u32 origin_asked(struct iotr_control *page, struct bio *bio, struct block_io *io, __u32 own)
{
	__u64 key = own_asked(number_of((__u64)bio), own);
	struct asked *by = key ? bpf_map_lookup_elem(&asked, &key) : NULL;
	struct dirtier *dirtier;

	if (!by)
		return 0;
	io->flow = io->flow ?: by->flow;
	if (!own)
		return by->dirtier;
	dirtier = dirtier_find(by->dirtier);
	if (dirtier && !io->actor.known)
		io->actor = dirtier->actor;
	if (dirtier)
		io->actor.accepted |= dirtier_accepted(page, dirtier);
	return by->dirtier;
}

/* Sets who caused a write that is queued by the current task, which is in `io`; `by`: what it carries. Returns what of enum own it is. */
static __always_inline __u32 origin_write(struct iotr_control *page, struct bio *bio, struct block_io *io, __u64 by)
{
	__u32 own = by < CARRIED_LAST ? own_writes(number_of((__u64)bio), io->file.address) : OWN_NOTHING;

	if (own && !own_by_pages(own)) {
		origin_of_number(page, io, own_cause(number_of((__u64)bio), own));
	} else if (by == CARRIED_CACHE || !io->actor.known) {
		tally_begin(TALLY_BIO);
		tally_bio(TALLY_BIO, number_of((__u64)bio));
		origin_tallied(page, TALLY_BIO, io, io->actor.tid);
	}
	if (own)
		io->attribution = own_is_log(own) ? IOTR_ATTRIBUTION_JOURNAL : IOTR_ATTRIBUTION_METADATA;
	return own;
}

/* Sets who caused a flush without data that a journal's thread queues. Returns as the one above. */
static __always_inline __u32 origin_flush(struct iotr_control *page, struct bio *bio, struct block_io *io)
{
	if (io->actor.known || !is_jbd2())
		return OWN_NOTHING;
	origin_of_number(page, io, own_cause(number_of((__u64)bio), OWN_JBD2_LOG));
	io->attribution = IOTR_ATTRIBUTION_JOURNAL;
	return OWN_JBD2_LOG;
}

/*
 * Sets who caused a bio that is queued by the current task, which is in `io`, and what file it is of. Returns the number of the task
 * that asked for it; 0: nobody is known. `kernel`: the current task is a kernel thread.
 */
static __always_inline __u32 origin_bio(struct iotr_control *page, struct bio *bio, struct block_io *io, bool flushes, bool kernel)
{
	__u64 by = bio_carries(bio);
	__u32 own = OWN_NOTHING;

	file_of_bio(bio, by, &io->file);
	io_seen(page, &io->file);
	if (writes(io))
		own = origin_write(page, bio, io, by);
	else if (flushes && !io->size)
		own = origin_flush(page, bio, io);
	return own_is_log(own) || (kernel && writes(io)) ? origin_asked(page, bio, io, own) : 0;
}

/*
 * Notes who caused the flushes that a bio makes the disk do, by requests of their own, after the current task was noted for them. What
 * a kernel thread queues is of the task that asked for it, which has a number, or of who caused what it writes.
 */
static __always_inline void flusher_note(struct iotr_control *page, const struct block_io *io, __u32 asker, bool kernel)
{
	struct dirtier *dirtier = asker && kernel ? dirtier_find(asker) : NULL;
	struct cause *flusher = bpf_map_lookup_elem(&flushers, &io->disk);

	if (!flusher)
		return;
	flusher->flow = io->flow;
	flusher->attribution = io->attribution;
	if (dirtier) {
		flusher->actor = dirtier->actor;
		flusher->actor.accepted = dirtier_accepted(page, dirtier);
	} else if (kernel) {
		flusher->actor = io->actor;
	}
}

/* Sets who caused a request that flushes its disk, for a bio that was noted. */
static __always_inline void origin_flusher(struct block_io *io, struct cause *flusher)
{
	io->cause = *flusher;
	if (io->attribution != IOTR_ATTRIBUTION_JOURNAL)
		io->attribution = io->actor.known ? IOTR_ATTRIBUTION_SUBMITTER : IOTR_ATTRIBUTION_UNKNOWN;
	if (flusher->flushes)
		flusher->flushes--;
	else
		io->flow = 0;
}

/* Notes who caused what a stacked device does, whose kernel threads may pass it on. */
static __always_inline void stacked_note(struct iotr_control *page, const struct block_io *io)
{
	__u32 number = 0;

	if (!io->by_bio || !io->size)
		return;
	if (io->actor.known)
		number = dirtier_keep(page, KEEP_BIO, &io->actor, io->queued_ns);
	if (number)
		number = passed_keep(number, io->flow, io->operation, io->attribution);
	blocks_note(io->disk, io->sector >> BLOCK_SECTORS_SHIFT, blocks_of(io->sector << SECTOR_SHIFT, io->size), number);
}

/* Notes who caused what a loop device's thread will do with the file below. */
static __always_inline void loop_request_note(struct iotr_control *page, struct request *request, const struct block_io *io)
{
	__u64 queue = ADDRESS(struct request, request, q);
	__u32 number = 0;

	if (io->actor.known)
		number = dirtier_keep(page, KEEP_ISSUE, &io->actor, io->queued_ns ?: bpf_ktime_get_ns());
	if (writes(io) && number)
		loop_note(queue, io->sector, io->size, number);
	else if (io->operation == IOTR_BLOCK_READ)
		loop_read_note(queue, io->sector, io->size,
			       number ? passed_keep(number, io->flow, io->operation, io->attribution) : 0);
}
