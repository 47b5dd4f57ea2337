// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page cache. What a thread does to pages that follow one another, in one system call, is one
 * row, written when the call ends; outside of calls (page faults, threads of the kernel) each
 * folio is a row at once.
 *
 * A read asks for a range of pages (mm_filemap_get_pages). Of the pages that its call adds to the
 * cache, those in the range are a MISS, those outside came by READAHEAD; the rest of the range was
 * there already: a HIT. So HIT + MISS is what was asked for, as far as the file goes, and MISS +
 * READAHEAD what was added. A page that an earlier call read ahead is a HIT for the one that comes
 * for it. Pages added to be written, which are dirty when the call ends, are none of these.
 *
 * Of a disk's own pages that no read asks for, which the kernel wants for itself, and on kernels
 * that do not tell what a read asks for, every page that is added is a MISS.
 */
#include "pagecache.bpf.h"
#include "blockdev.bpf.h"
#include "context.bpf.h"

#define RUNS	   8 /* of one call, before they are written; a power of two */
#define ASKED	   RUNS /* stands for the range asked for */
#define RUN_ADDED  32 /* beyond the operations: what they are is known later */
#define RUN_DONE   33
#define CACHE_CALLS 2048 /* threads that were seen */
#define REQUEST_BIOS 256 /* bios of one request that are looked at */

/* Pages of one file that follow one another, and what was done to them. */
struct run {
	struct cached cached;
	__u64 mapping;
	__u64 index;
	__u64 count;
	__u64 start_ns;
	__u64 sessions; /* by task and device */
	__u32 operation; /* enum iotr_cache_operation or RUN_* */
	__u32 pad;
};

/* What a thread has done since its call began. */
struct cache_call {
	struct run asked;   /* by read; count 0: nothing */
	__u64 reached;	    /* page of it that was come to */
	__u64 due_mapping;  /* what a page fault or readahead is under way for */
	__u64 due_index;
	__u64 due_count;
	__u64 draw;	    /* the call's, for those who sample; 0: none yet */
	__u32 settled;	    /* runs that were there when `reached` was */
	__u32 count;
	struct run runs[RUNS];
};

HASH_OF(cache_calls, HASH, __u32, struct cache_call, CACHE_CALLS);
ARRAY_OF(blank_call, struct cache_call, 1, 0);

static __always_inline __u64 wanted(struct iotr_control *page, __u32 operation)
{
	return page->operation[IOTR_CACHE][operation & (IOTR_OPERATIONS_MAX - 1)];
}

/* Those to whom it matters that pages are read. */
static __always_inline __u64 wanted_reads(struct iotr_control *page)
{
	return wanted(page, IOTR_CACHE_HIT) | wanted(page, IOTR_CACHE_MISS) |
	       wanted(page, IOTR_CACHE_READAHEAD);
}

static __always_inline __u64 filter_current(struct iotr_control *page, __u64 sessions)
{
	struct task_struct *task = current_task();
	__u32 tgid = task_tgid(task);

	if (!sessions || tgid == page->own_tgid)
		return 0;
	return filter_task(page, task, sessions, tgid);
}

/*
 * What one call does to the cache is sampled as a whole: what is a HIT follows from all of it. For
 * threads of the kernel each folio is drawn by itself.
 */
static __always_inline __u64 sample_call(struct iotr_control *page, struct cache_call *call, __u64 sessions)
{
	if (!(sessions & page->sampled[IOTR_CACHE]))
		return sessions;
	if (!call->draw)
		call->draw = sample_draw_high() | sample_draw_low() | 1;
	return sample_by(IOTR_CACHE, sessions, call->draw);
}

static __always_inline bool tells_reads(void)
{
	return bpf_core_type_exists(struct trace_event_raw_mm_filemap_op_page_cache_range);
}

/* ---- rows ---- */

static __always_inline void row_fill(struct iotr_cache_record *row, const struct cached *cached,
				     __u64 index, __u64 count)
{
	row->file = cached->file;
	row->size = cached->size;
	row->index = index;
	row->count = count;
}

static __always_inline struct cache_call *call_find(void)
{
	__u32 tid = task_tid(current_task());

	return bpf_map_lookup_elem(&cache_calls, &tid);
}

/* The thread's, rid of what no hook saw the end of; NULL: no room. */
static __always_inline struct cache_call *call_take(struct iotr_control *page)
{
	__u32 tid = task_tid(current_task()), zero = 0;
	struct cache_call *call = bpf_map_lookup_elem(&cache_calls, &tid), *blank;

	if (call) {
		if (call->runs[0].start_ns < page->attached_ns)
			call->count = call->settled = 0;
		if (call->asked.start_ns < page->attached_ns)
			call->asked.count = 0;
		return call;
	}
	blank = bpf_map_lookup_elem(&blank_call, &zero);
	if (!blank || bpf_map_update_elem(&cache_calls, &tid, blank, BPF_ANY))
		return NULL;
	return bpf_map_lookup_elem(&cache_calls, &tid);
}

/* A row for a part of one of the thread's runs, or of what was asked for. Verified once. */
__noinline int emit(__u32 which, __u32 operation, __u64 index, __u64 count)
{
	struct iotr_control *page = control_page();
	struct cache_call *call = call_find();
	struct task_struct *task = current_task();
	struct iotr_cache_record *row;
	struct iotr_command command;
	const struct run *run;
	__u64 sessions;

	if (!page || !call || !count)
		return 0;
	run = which < RUNS ? &call->runs[which & (RUNS - 1)] : &call->asked;
	if (run->start_ns < page->attached_ns)
		return 0;
	sessions = run->sessions & wanted(page, operation);
	sessions = filter_end(page, sessions, 0, count << PAGE_SHIFT, false);
	task_command(task, &command);
	if (!sessions || command_is_ours(&command))
		return 0;
	row = row_begin(IOTR_CACHE, sizeof(*row), sessions);
	if (!row)
		return 0;
	head_fill(&row->head, sizeof(*row), IOTR_CACHE, operation, sessions, run->start_ns, run->start_ns);
	head_fill_current(&row->head, task, &command);
	row_fill(row, &run->cached, index, count);
	row_commit(row);
	return 0;
}

/* ---- what a run of added pages is ---- */

struct range {
	__u64 from, to; /* to: the first page behind */
};

static __always_inline struct range common(const struct run *run, __u64 index, __u64 count)
{
	__u64 end = run->index + run->count;
	struct range range = { run->index > index ? run->index : index,
			       end < index + count ? end : index + count };

	if (range.from >= range.to)
		range.from = range.to = end;
	return range;
}

/* Rows of an added run: MISS is what is in `range`. */
static __always_inline void emit_added(__u32 which, const struct run *run, struct range range)
{
	emit(which, IOTR_CACHE_READAHEAD, run->index, range.from - run->index);
	emit(which, IOTR_CACHE_MISS, range.from, range.to - range.from);
	emit(which, IOTR_CACHE_READAHEAD, range.to, run->index + run->count - range.to);
}

/* A file that is written to has grown since. */
static __always_inline void size_refresh(struct run *run)
{
	__u64 inode = ADDRESS(struct address_space, run->mapping, host);
	struct cached now;

	if (inode && cached_fill(inode, &now) && now.file.inode == run->cached.file.inode &&
	    now.file.device == run->cached.file.device)
		run->cached.size = now.size;
}

/* Ends one run. Returns up to where, of what was asked for, it is known what was there. */
__noinline __u64 finish_run(__u32 which, __u64 known)
{
	struct cache_call *call = call_find();
	const struct run *asked;
	struct range range;
	struct run *run;

	if (!call)
		return known;
	asked = &call->asked;
	run = &call->runs[which & (RUNS - 1)];
	if (run->operation == IOTR_CACHE_DIRTY)
		size_refresh(run);
	if (run->operation < RUN_ADDED) {
		emit(which, run->operation, run->index, run->count);
	} else if (run->operation == RUN_ADDED) {
		if (asked->count && asked->mapping == run->mapping) {
			range = common(run, asked->index, asked->count);
			if (range.from < range.to) {
				if (range.from > known)
					emit(ASKED, IOTR_CACHE_HIT, known, range.from - known);
				known = range.to;
			}
			emit_added(which, run, range);
		} else if (!tells_reads() || run->cached.file.inode == IOTR_UNKNOWN) {
			emit_added(which, run, common(run, run->index, run->count));
		} else if (call->due_mapping == run->mapping) {
			emit_added(which, run, common(run, call->due_index, call->due_count));
		} else {
			emit_added(which, run, common(run, 0, 0));
		}
	}
	run->operation = RUN_DONE;
	return known;
}

/* Writes the first runs of the thread's call, and what was asked for. Verified once. */
__noinline int finish(__u32 runs)
{
	struct cache_call *call = call_find();
	__u64 known, end;

	if (!call)
		return 0;
	known = call->asked.index;
	for (__u32 i = 0; i < RUNS && i < runs; i++)
		known = finish_run(i, known);
	end = call->asked.index + call->asked.count;
	if (call->asked.count && known < end)
		emit(ASKED, IOTR_CACHE_HIT, known, end - known);
	call->asked.count = 0;
	call->settled = 0;
	if (runs >= call->count)
		call->count = 0;
	return 0;
}

/* ---- pages added, made dirty, removed ---- */

/* Pages that come to be dirty were added to be written: they were not read. */
static __always_inline void forget_added(struct cache_call *call, __u64 mapping, __u64 index, __u64 count)
{
	for (__u32 i = 0; i < RUNS && i < call->count; i++) {
		struct run *run = &call->runs[i & (RUNS - 1)];

		if (run->operation != RUN_ADDED || run->mapping != mapping ||
		    index + count != run->index + run->count || index < run->index)
			continue;
		run->count -= count; /* folios are written in the order in which they are added */
		if (!run->count)
			run->operation = RUN_DONE;
	}
	if (call->count && call->runs[(call->count - 1) & (RUNS - 1)].operation == RUN_DONE)
		call->count--;
}

static __always_inline bool run_extend(struct cache_call *call, __u64 mapping, __u64 index, __u64 count,
				       __u32 operation)
{
	struct run *run = &call->runs[(call->count - 1) & (RUNS - 1)];

	if (!call->count || run->operation != operation || run->mapping != mapping ||
	    run->index + run->count != index)
		return false;
	run->count += count;
	return true;
}

/* Fills a run with all but its operation; false when no session wants its file. */
static __always_inline bool run_begin(struct iotr_control *page, struct run *run, __u64 mapping,
				      __u64 index, __u64 count, __u64 sessions)
{
	__u64 inode = ADDRESS(struct address_space, mapping, host);

	if (!cached_fill(inode, &run->cached))
		return false;
	run->sessions = filter_device(page, sessions, run->cached.file.device);
	run->sessions = filter_inode(page, run->sessions,
				     run->cached.file.inode == IOTR_UNKNOWN ? 0 : inode);
	if (!run->sessions)
		return false;
	if (run->cached.file.inode != IOTR_UNKNOWN)
		run->cached.file.name = name_of_inode(inode);
	run->mapping = mapping;
	run->index = index;
	run->count = count;
	run->start_ns = bpf_ktime_get_ns();
	return true;
}

static __always_inline void run_add(struct iotr_control *page, struct cache_call *call, __u64 mapping,
				    __u64 index, __u64 count, __u32 operation, __u64 sessions)
{
	struct run *run;

	if (run_extend(call, mapping, index, count, operation))
		return;
	if (call->count >= RUNS)
		finish(RUNS);
	run = &call->runs[call->count & (RUNS - 1)];
	if (!run_begin(page, run, mapping, index, count, sessions))
		return;
	run->operation = operation;
	call->count++;
}

/* One folio. A function of its own, verified once. */
__noinline int note(__u64 mapping, __u64 index, __u64 count, __u32 operation)
{
	struct iotr_control *page = control_page();
	__u32 flags = READ(struct task_struct, current_task(), flags), tid;
	struct cache_call *call;
	__u64 sessions;

	if (!page)
		return 0;
	if (operation == IOTR_CACHE_DIRTY) {
		call = call_find();
		if (call)
			forget_added(call, mapping, index, count);
	}
	sessions = operation == RUN_ADDED ? wanted_reads(page) : wanted(page, operation);
	sessions = filter_current(page, sessions);
	if (!sessions)
		return 0;
	call = call_take(page);
	if (!call) {
		row_unmatched(IOTR_CACHE, sessions);
		return 0;
	}
	sessions = sample_call(page, call, sessions);
	if (sessions)
		run_add(page, call, mapping, index, count, operation, sessions);
	if (call_ends(flags, operation))
		return 0;
	finish(RUNS);
	call->draw = 0;
	if (flags & PF_EXITING) {
		tid = task_tid(current_task());
		bpf_map_delete_elem(&cache_calls, &tid);
	}
	return 0;
}

static __always_inline int folio_seen(__u64 folio, __u32 operation)
{
	__u64 mapping = folio_mapping(folio);

	if (mapping)
		note(mapping, folio_index(folio), folio_pages(folio), operation);
	return 0;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(cache_add, void *folio)
{
	return folio_seen((__u64)folio, RUN_ADDED);
}

SEC("tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(cache_delete, void *folio)
{
	return folio_seen((__u64)folio, removal(READ(struct task_struct, current_task(), flags)));
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(cache_dirty_folio, void *folio)
{
	return folio_seen((__u64)folio, IOTR_CACHE_DIRTY);
}

SEC("tp_btf/writeback_dirty_page")
int BPF_PROG(cache_dirty_page, void *page)
{
	return folio_seen((__u64)page, IOTR_CACHE_DIRTY);
}

/* ---- what is asked for ---- */

/* The page that a read system call begins with in a file of that mapping, or IOTR_UNKNOWN. */
static __always_inline __u64 call_begin(__u64 mapping)
{
	struct pt_regs *regs = user_registers();
	__s64 number = call_number(regs), position;
	__u64 file;

	if (abi_of(current_task()) == IOTR_ABI_COMPAT)
		return IOTR_UNKNOWN;
	file = file_of_fd(current_task(), READ(struct pt_regs, regs, di));
	if (!file || ADDRESS(struct file, file, f_inode) != ADDRESS(struct address_space, mapping, host))
		return IOTR_UNKNOWN;
	switch (number) {
	case 0:	 /* read */
	case 19: /* readv */
		position = -1;
		break;
	case 17:  /* pread64 */
	case 295: /* preadv */
	case 327: /* preadv2 */
		position = READ(struct pt_regs, regs, r10);
		break;
	default:
		return IOTR_UNKNOWN;
	}
	if (position == -1)
		position = READ(struct file, file, f_pos);
	return (__u64)position >> PAGE_SHIFT;
}

/*
 * Where a read began that is seen to have come to page `index`: the kernel tells nothing of pages
 * that it had to wait for.
 */
static __always_inline __u64 asked_from(const struct cache_call *call, __u64 mapping, __u64 index)
{
	__u64 begin = call_begin(mapping);

	if (begin == IOTR_UNKNOWN && call->due_mapping == mapping &&
	    call->due_index + call->due_count >= index)
		begin = call->due_index;
	return begin < index ? begin : index;
}

static __always_inline void ask(struct iotr_control *page, struct cache_call *call, __u64 mapping,
				__u64 index, __u64 last, __u64 sessions)
{
	struct run *asked = &call->asked;
	__u64 end = asked->index + asked->count;

	if (!asked->count || asked->mapping != mapping || index < asked->index || index > end) {
		finish(call->settled);
		if (!run_begin(page, asked, mapping, asked_from(call, mapping, index), 0, sessions))
			return;
		end = asked->index;
	}
	if (last >= asked->cached.size)
		last = asked->cached.size - 1;
	if (asked->cached.size && last + 1 > end)
		asked->count = last + 1 - asked->index;
	call->reached = index;
	call->settled = call->count;
}

/*
 * A read has come to page `index` of what it wants up to `last`. Fires for every batch of folios
 * that did not have to be waited for, thus in any case for the last.
 * Reads of the kernel's own threads have no end that could be seen: they make no HIT.
 */
SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(cache_get_pages, void *mapping, unsigned long index, unsigned long last)
{
	struct iotr_control *page = control_page();
	struct cache_call *call;
	__u64 sessions;

	if (!page)
		return 0;
	sessions = filter_current(page, wanted_reads(page));
	if (!sessions || !call_ends(READ(struct task_struct, current_task(), flags), IOTR_CACHE_HIT))
		return 0;
	call = call_take(page);
	if (!call) {
		row_unmatched(IOTR_CACHE, sessions);
		return 0;
	}
	sessions = sample_call(page, call, sessions);
	if (sessions)
		ask(page, call, argument_address(ctx, 0), index, last, sessions);
	return 0;
}

static __always_inline int due(__u64 mapping, __u64 index, __u64 count)
{
	struct iotr_control *page = control_page();
	struct cache_call *call;

	if (!page || !filter_current(page, wanted_reads(page)))
		return 0;
	call = call_take(page);
	if (!call)
		return 0;
	call->due_mapping = mapping;
	call->due_index = index;
	call->due_count = count;
	return 0;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(cache_fault, void *mapping, unsigned long index)
{
	return due(argument_address(ctx, 0), index, 1);
}

SEC("tp_btf/page_cache_sync_ra")
int BPF_PROG(cache_sync_ra, void *inode, unsigned long index, void *state, unsigned long count)
{
	return due(ADDRESS(struct inode, inode, i_mapping), index, count);
}

SEC("tp_btf/page_cache_async_ra")
int BPF_PROG(cache_async_ra, void *inode, unsigned long index, void *state, unsigned long count)
{
	return due(ADDRESS(struct inode, inode, i_mapping), index, 0);
}

/* A call that failed has come as far as it came. */
static __always_inline int call_over(long result)
{
	struct cache_call *call = call_find();

	if (!call)
		return 0;
	call->due_mapping = 0;
	call->draw = 0;
	if (!call->count && !call->asked.count)
		return 0;
	if (result < 0 && call->asked.count)
		call->asked.count = call->reached - call->asked.index + 1;
	finish(RUNS);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(cache_exit, struct pt_regs *regs, long result)
{
	return call_over(result);
}

SEC("tp/raw_syscalls/sys_exit")
int cache_exit_raw(struct raw_exit *ctx)
{
	return call_over(RESULT_OF(ctx));
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(cache_gone, struct task_struct *task)
{
	__u32 tid = task_tid(current_task());

	if (!call_find())
		return 0;
	finish(RUNS);
	bpf_map_delete_elem(&cache_calls, &tid);
	return 0;
}

/* ---- writeback and reclaim: rows at once ---- */

#include "writeback.bpf.h"

SEC("tp_btf/block_bio_queue")
int BPF_PROG(cache_bio_queue__1, struct bio *bio)
{
	return bio_queued(bio);
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(cache_bio_queue__2, struct request_queue *queue, struct bio *bio)
{
	return bio_queued(bio);
}

/* Of devices without requests. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(cache_bio_complete, struct request_queue *queue, struct bio *bio)
{
	return bio_ended(argument_address(ctx, 1));
}

/* Of all others, before the request lets go of its bios. */
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

/* One pass over pages that were long not used, of any file: of what it got, no file is known. */
SEC("tp_btf/mm_vmscan_lru_shrink_inactive")
int BPF_PROG(cache_reclaim, int node, unsigned long scanned, unsigned long reclaimed, void *stat,
	     int priority, int file)
{
	struct iotr_control *page = control_page();
	struct writeback back = {};

	if (!page || !reclaimed || !file)
		return 0;
	back.sessions = filter_current(page, wanted(page, IOTR_CACHE_RECLAIM));
	back.sessions &= ~(page->filtered[IOTR_FILTER_DEVICE] | page->filtered[IOTR_FILTER_PATH]);
	back.sessions = sample(page, IOTR_CACHE, back.sessions);
	if (!back.sessions)
		return 0;
	actor_current(&back.actor);
	back.cached.file.inode = back.cached.size = back.index = IOTR_UNKNOWN;
	back.count = reclaimed;
	emit_for(page, &back, IOTR_CACHE_RECLAIM);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
