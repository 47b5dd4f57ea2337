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
	if (!io->file.open)
		file_of_inode(ADDRESS(struct address_space, tally->of[most].mapping, host), &io->file);
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

/* Sets who caused a bio that a kernel thread passes on, for a stacked device, if that is known. */
static __always_inline void origin_remapped(struct iotr_control *page, struct bio *bio, struct block_io *io)
{
	__u32 number = remapped_take((__u64)bio);

	if (io->attribution == IOTR_ATTRIBUTION_UNKNOWN && origin_of_number(page, io, number) && io->actor.known)
		io->attribution = IOTR_ATTRIBUTION_DIRTIER;
}

/* Sets who caused a bio that is queued by the current task, which is in `io`, and what file it is of. */
static __always_inline void origin_bio(struct iotr_control *page, struct bio *bio, struct block_io *io)
{
	__u64 by = bio_carries(bio);
	__u32 own;

	file_of_bio(bio, by, &io->file);
	if (!writes(io))
		return;
	own = by < CARRIED_LAST ? own_writes(number_of((__u64)bio), io->file.address) : OWN_NOTHING;
	if (own && !own_by_pages(own)) {
		origin_of_number(page, io, own_cause(number_of((__u64)bio), own));
	} else if (by == CARRIED_CACHE || !io->actor.known) {
		tally_begin(TALLY_BIO);
		tally_bio(TALLY_BIO, number_of((__u64)bio));
		origin_tallied(page, TALLY_BIO, io, io->actor.tid);
	}
	if (own)
		io->attribution = own_is_log(own) ? IOTR_ATTRIBUTION_JOURNAL : IOTR_ATTRIBUTION_METADATA;
}

/* Notes who caused what a stacked device does, whose kernel threads may pass it on. */
static __always_inline void stacked_note(struct iotr_control *page, const struct block_io *io)
{
	__u32 number;

	if (!io->by_bio || !io->actor.known || !io->size || io->operation > IOTR_BLOCK_WRITE)
		return;
	number = dirtier_keep(page, KEEP_BIO, &io->actor, io->queued_ns);
	if (number)
		blocks_note(io->disk, io->sector >> BLOCK_SECTORS_SHIFT, blocks_of(io->sector << SECTOR_SHIFT, io->size), number);
}
