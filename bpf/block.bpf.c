// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Block requests, matched by the address of the request from queue to completion. Devices without
 * requests (dm, md) have bios instead, which are matched the same way. The task that causes a request
 * is saved when its bio is queued, as later hooks run in any task or interrupt that drives the queue. What
 * is written of the page cache is of whoever made the pages dirty: see dirtied.bpf.h.
 */
#include "block_origin.bpf.h"
#include "flow_bio.bpf.h"
#include "plugged.bpf.h"

/*
 * At the queue and the end, the programs of CACHE that see to writeback are tail called, where it is recorded: that costs less than
 * another program on the hook, and what reads has no part of it.
 */
#define GO_ON_TO_WRITEBACK(ctx, programs, flags)                                                \
	({                                                                                      \
		if (((flags) & REQUEST_OPERATION) == REQUEST_WRITE && cache_wanted())           \
			bpf_tail_call(ctx, programs, IOTR_CACHE);                               \
		0;                                                                              \
	})

/* ---- bios ---- */

/*
 * Makes the sampling draw of a bio, for its own row or for its request's. Returns the sessions that have drawn it. None is made
 * of one that asks for a flush, which may serve several requests.
 */
static __always_inline __u64 bio_draw(struct iotr_control *page, __u32 operation, bool by_bio, __u32 flushes, __u64 key)
{
	__u64 wanted = wanted_now(page, operation), drawn;

	if (!by_bio && flushes)
		return 0;
	drawn = sample(page, IOTR_BLOCK, wanted);
	if (!by_bio && page->sampled[IOTR_BLOCK])
		bio_out_note(key, wanted && !drawn);
	return drawn;
}

/* Drops the row of an earlier bio at the same address, whose end was not seen, and counts it as lost. */
static __always_inline void bio_row_unended(struct iotr_control *page, __u64 key)
{
	struct block_io *before = bpf_map_lookup_elem(&bio_rows, &key);

	if (!before)
		return;
	row_unended(page, IOTR_BLOCK, before->sessions, before->issue_ns);
	bpf_map_delete_elem(&bio_rows, &key);
}

/* Begins the row of a bio of a device without requests. */
static __always_inline void bio_row_begins(struct iotr_control *page, struct block_io *io, __u64 key)
{
	io->issue_ns = io->queued_ns;
	io->sessions = filter_io(page, io, io->sessions);
	if (io->sessions)
		io_name(io);
	if (io->sessions && bpf_map_update_elem(&bio_rows, &key, io, BPF_ANY))
		row_unmatched(IOTR_BLOCK, io->sessions);
}

static __always_inline void bio_queued(struct bio *bio, __u64 thread)
{
	struct iotr_control *page = control_page();
	__u64 key = (__u64)bio, drawn;
	__u32 flags, size, operation, flushes, asker;
	bool by_bio, kernel;
	struct block_io *io;

	if (!page || !page->wanted[IOTR_BLOCK]) /* the program may be there for writeback alone */
		return;
	flags = FOLLOW(bio, bi_opf);
	size = FOLLOW(bio, bi_iter.bi_size);
	flushes = bio_flushes(page, bio, flags);
	operation = page->block_operation[flags & REQUEST_OPERATION];
	by_bio = !bio_has_requests(bio);
	if (by_bio)
		bio_row_unended(page, key);
	if (by_bio && flushes && !size) /* the flush of a device without requests */
		operation = IOTR_BLOCK_FLUSH;
	drawn = bio_draw(page, operation, by_bio, flushes, key);
	if (!drawn && !flushes)
		return;
	io = bio_place(&key);
	if (!io) {
		if (by_bio)
			row_unmatched(IOTR_BLOCK, drawn);
		return;
	}
	io->sessions = drawn;
	io->size = size;
	io->operation = operation;
	io->by_bio = by_bio;
	origin_current(page, io);
	io->queued_ns = bpf_ktime_get_ns();
	io->sector = FOLLOW(bio, bi_iter.bi_sector);
	io->flags = flags & ~REQUEST_OPERATION;
	io->disk = bio_disk(bio);
	io->device = bio_device(bio, io->disk);
	io->flow = flow_of_bio(page, bio, thread, io->queued_ns);
	io->flushes = flushes;
	kernel = !io->actor.known;
	if (flushes)
		bpf_map_update_elem(&flushers, &io->disk, &io->cause, BPF_ANY);
	asker = origin_bio(page, bio, io, flushes, kernel);
	if (kernel)
		origin_passed(page, bio, io);
	if (flushes)
		flusher_note(page, io, asker, kernel);
	stacked_note(page, io);
	io->used = !by_bio;
	if (by_bio) {
		bio_row_begins(page, io, key);
		io->sessions = 0; /* nothing is in flight where the row was only put together */
	}
}

QUEUE_HOOK(bio_queue, block_bio_queue, struct bio *bio,
	   (bio_queued(bio, thread_at(ctx)), GO_ON_TO_WRITEBACK(ctx, &plug_queues, FOLLOW(bio, bi_opf))))

/* A global function. */
__noinline int bio_row_ends(__u64 bio, __u32 error)
{
	struct iotr_control *page = control_page();
	struct block_io *io = bpf_map_lookup_elem(&bio_rows, &bio);

	if (!page || !io)
		return 0;
	emit(page, io, bio, error);
	bpf_map_delete_elem(&bio_rows, &bio);
	return 0;
}

/* For devices without requests; those of others are seen by their requests. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(bio_complete, struct request_queue *queue, struct bio *bio)
{
	return bio_row_ends(number_of((__u64)bio), status_errno(FOLLOW(bio, bi_status)));
}

/* ---- requests ---- */

/*
 * What was saved of a bio whose data or the rest of it a request carries; NULL: nothing. What there is may be of an older bio
 * at the same address, as one that was split off another is not queued itself, and so replaces none.
 */
static __always_inline struct block_io *bio_saved(struct request *request, __u64 bio)
{
	struct block_io *from = bio ? bio_find(&bio) : NULL;
	__u64 distance;

	if (!from)
		return bio ? bpf_map_lookup_elem(&bio_rows, &bio) : NULL;
	distance = FOLLOW(request, __sector) - from->sector;
	return !distance || distance < from->size >> SECTOR_SHIFT ? from : NULL;
}

/* Whether the bio that a request is made of was split off another, which is its `bi_private` then. */
static __always_inline bool is_split(struct iotr_control *page, struct request *request)
{
	__u64 chained = page->bio_ends[IOTR_BIO_CHAIN];
	struct bio *bio = FOLLOW(request, bio);

	if (!bio || !chained)
		return false;
	return (TYPES_ARE_FOLLOWED ? number_of((__u64)bio->bi_end_io) : ADDRESS(struct bio, bio, bi_end_io)) == chained;
}

/* What was saved of the bio that a request is made of, or of the one that it was split off; NULL: nothing. */
static __always_inline struct block_io *request_source(struct request *request, __u64 bio, bool split)
{
	struct block_io *from = bio_saved(request, bio), *whole = NULL;

	if (split)
		whole = bio_saved(request, ADDRESS(struct bio, bio, bi_private));
	return whole && (!from || whole->queued_ns > from->queued_ns) ? whole : from;
}

/* Gives up what was saved of the bio of a request, which is `from` or, if that is of another, looked for. */
static __always_inline void source_gone(__u64 bio, struct block_io *from, bool split)
{
	struct block_io *own = split ? bio_find(&bio) : from;

	if (own)
		bio_gone(&bio, own);
}

/* Sets who caused a request: the task that queued its bio, otherwise the current task. */
static __always_inline void request_origin(struct iotr_control *page, struct request *request, struct block_io *io, __u64 bio,
					   const struct block_io *from)
{
	struct cause *flusher;
	__u32 disk;

	io->file.inode = IOTR_UNKNOWN;
	io->stacked = from && from->by_bio;
	if (from) {
		io->actor = from->actor;
		io->attribution = from->attribution;
		io->dirtiers = from->dirtiers;
		io->alone = from->alone;
		io->queued_ns = from->queued_ns;
		io->file = from->file;
		return;
	}
	disk = bio ? 0 : request_disk(request);
	flusher = bio ? NULL : bpf_map_lookup_elem(&flushers, &disk);
	if (flusher) {
		origin_flusher(io, flusher);
		return;
	}
	origin_current(page, io);
	if (!bio)
		return;
	file_of_bio((struct bio *)bio, bio_carries((struct bio *)bio), &io->file);
	io_seen(page, &io->file);
}

/*
 * Sets who caused a write of bios that were merged, that were not seen being queued, or of which this is a part, by the
 * pages that it carries.
 */
static __always_inline void request_tally(struct iotr_control *page, struct request *request, struct block_io *io)
{
	__u32 submitter = io->attribution == IOTR_ATTRIBUTION_SUBMITTER ? io->actor.tid : 0;
	struct bio *bio = FOLLOW(request, bio);

	if (!bio || !writes(io) || io->attribution >= IOTR_ATTRIBUTION_JOURNAL ||
	    (io->alone && !READ(struct bio, bio, bi_next)) || bio_carries(bio) != CARRIED_CACHE)
		return;
	tally_begin(TALLY_ISSUE);
	tally_bios(TALLY_ISSUE, number_of((__u64)bio));
	origin_tallied(page, TALLY_ISSUE, io, submitter);
}

/* Applies the filters, when no more bios are merged into a request. */
static __always_inline void request_judge(struct iotr_control *page, struct request *request, struct block_io *io)
{
	request_tally(page, request, io);
	if (io->disk >> MINOR_BITS == LOOP_MAJOR)
		loop_request_note(page, request, io);
	io->sessions = filter_io(page, io, io->sessions);
	if (io->sessions)
		io_name(io);
}

static __always_inline __u32 request_operation(struct iotr_control *page, struct request *request)
{
	return page->block_operation[FOLLOW(request, cmd_flags) & REQUEST_OPERATION];
}

/* Sets what a request is about. Merges make it larger until it is issued. */
static __always_inline void request_extent(struct iotr_control *page, struct request *request, struct block_io *io)
{
	io->operation = request_operation(page, request);
	io->size = FOLLOW(request, __data_len);
	io->sector = io->operation == IOTR_BLOCK_FLUSH || io->operation == IOTR_BLOCK_OTHER ? IOTR_UNKNOWN :
											      FOLLOW(request, __sector);
}

/* Completes what is known of a request that is issued, and applies the filters. */
static __always_inline void request_issued(struct iotr_control *page, struct request *request, struct block_io *io)
{
	io->flags = FOLLOW(request, cmd_flags) & ~REQUEST_OPERATION;
	io->disk = request_disk(request);
	io->device = request_device(request, io->disk);
	request_judge(page, request, io);
	io->issue_ns = bpf_ktime_get_ns();
}

/* Whether a request has all of the bio that it was made of: of one that was split, other parts may be seen later. */
static __always_inline bool has_all(const struct block_io *io, const struct block_io *bio)
{
	return io->sector <= bio->sector &&
	       io->sector + (io->size >> SECTOR_SHIFT) >= bio->sector + (bio->size >> SECTOR_SHIFT);
}

/*
 * Handles the first hook of a request. The draw of its bio counts, if there was one; otherwise it is made
 * here. A request that not all sessions drew is kept even if none did, so that its next hook does not draw
 * again.
 */
static __always_inline int request_new(struct iotr_control *page, struct request *request, bool inserted, bool issued)
{
	__u64 bio = (__u64)FOLLOW(request, bio), key = (__u64)request, others, drawn;
	__u32 operation = request_operation(page, request);
	bool split = is_split(page, request);
	struct block_io *io, *from;

	others = wanted_now(page, operation);
	if (bio_is_out(page, bio, others))
		return 0;
	from = request_source(request, bio, split);
	if (from && from->sessions && !from->by_bio) { /* not drawn again */
		drawn = from->sessions & wanted(page, operation);
		others = 0;
	} else {
		drawn = sample(page, IOTR_BLOCK, others);
		others &= ~drawn;
	}
	if (!drawn && !others)
		return 0;
	io = request_place(key);
	if (!io) {
		row_unmatched(IOTR_BLOCK, drawn & (from ? from->actor.accepted : ~0ULL));
		return 0;
	}
	io->sessions = drawn;
	if (inserted)
		io->insert_ns = bpf_ktime_get_ns();
	if (drawn) {
		request_origin(page, request, io, bio, from);
		if (bio)
			io->flow = from ? from->flow : 0;
		request_extent(page, request, io);
	}
	if (issued && drawn)
		request_issued(page, request, io);
	else if (issued)
		io->issue_ns = bpf_ktime_get_ns();
	io->used = 1;
	if (from && !from->by_bio && has_all(io, from))
		source_gone(bio, from, split);
	return 0;
}

/* Counts as lost a request whose issue or end was not seen, unless it is a flush that another request carried out. */
static __always_inline void request_unseen(struct iotr_control *page, const struct block_io *io)
{
	__u64 start = io->insert_ns ?: io->issue_ns ?: io->queued_ns;

	if (io->issue_ns || io->size)
		row_unended(page, IOTR_BLOCK, io->sessions & wanted(page, io->operation), start);
}

/* The entry of the request in flight; NULL: there is none. That of an earlier request at its address is given up. */
static __always_inline struct block_io *request_in_flight(struct iotr_control *page, __u64 key, bool starts)
{
	struct block_io *io = request_find(key);

	if (!io || (!starts && !io->issue_ns))
		return io;
	request_unseen(page, io);
	request_gone(key, io);
	return NULL;
}

/* A request is started (neither flag), inserted or issued. */
static __always_inline int request_begins(struct request *request, bool inserted, bool issued)
{
	struct iotr_control *page = control_page();
	__u64 key = (__u64)request;
	struct block_io *io;

	if (!page)
		return 0;
	io = request_in_flight(page, key, !inserted && !issued);
	if (!io)
		return request_new(page, request, inserted, issued);
	if (!io->sessions)
		return 0;
	if (inserted && !io->insert_ns)
		io->insert_ns = bpf_ktime_get_ns();
	if (issued) {
		request_extent(page, request, io);
		request_issued(page, request, io);
	}
	return 0;
}

static __always_inline int request_merged(struct request *request)
{
	struct block_io *io = request_find((__u64)request);

	if (io)
		request_gone((__u64)request, io);
	return 0;
}

static __always_inline int request_again(struct request *request)
{
	struct block_io *io = request_find((__u64)request);

	if (io)
		io->issue_ns = 0;
	return 0;
}

#define REQUEST_HOOK(name, hook, call) QUEUE_HOOK(name, hook, struct request *request, call)

REQUEST_HOOK(rq_start, block_io_start, request_begins(request, false, false))
REQUEST_HOOK(rq_insert, block_rq_insert, request_begins(request, true, false))
REQUEST_HOOK(rq_issue, block_rq_issue, request_begins(request, false, true))
REQUEST_HOOK(rq_merge, block_rq_merge, request_merged(request))
REQUEST_HOOK(rq_requeue, block_rq_requeue, request_again(request))

/*
 * Ends the rows of bios that a stacked device passed on without cloning them, as older md did. Such a bio
 * has no completion of its own: it ends with the request.
 */
static __always_inline void stacked_complete(struct request *request, __u32 error)
{
	struct bio *bio = FOLLOW(request, bio);

	for (int i = 0; i < STACKED_MAX && bio; i++) {
		bio_row_ends(number_of((__u64)bio), error);
		bio = READ(struct bio, bio, bi_next);
	}
}

static __always_inline void request_ends(struct request *request, int error, unsigned int bytes)
{
	struct iotr_control *page = control_page();
	__u64 key = (__u64)request;
	struct block_io *io = request_find(key);
	__u32 failed;

	if (!page)
		return;
	if (!io && page->sampled[IOTR_BLOCK])
		bio_out_note((__u64)FOLLOW(request, bio), false);
	if (!io)
		return;
	if (!error && bytes && bytes < FOLLOW(request, __data_len))
		return; /* a partial completion: the rest follows */
	failed = error < 0 ? -error : status_errno(error);
	if (io->stacked)
		stacked_complete(request, failed);
	if (io->issue_ns)
		emit(page, io, key, failed);
	else
		request_unseen(page, io);
	request_gone(key, io);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(rq_complete, struct request *request, int error, unsigned int bytes)
{
	request_ends(request, error, bytes);
	return GO_ON_TO_WRITEBACK(ctx, &plug_completes, FOLLOW(request, cmd_flags));
}

char LICENSE[] SEC("license") = "GPL";
