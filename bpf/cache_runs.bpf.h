/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What threads do to pages that follow one another, gathered until their calls end; see cache.bpf.c. */
#pragma once

#include "pagecache.bpf.h"
#include "context.bpf.h"

#define RUNS	   8 /* of one call, before they are written; a power of two */
#define ASKED	   RUNS /* stands for the range asked for */
#define RUN_ADDED  32 /* beyond the operations: what they are is known later */
#define RUN_DONE   33
#define CACHE_CALLS 2048 /* calls under way */

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
	__u64 thread;
	struct run asked;   /* by read; count 0: nothing */
	__u64 reached;	    /* page of it that was come to */
	__u64 due_mapping;  /* what a page fault or readahead is under way for */
	__u64 due_index;
	__u64 due_count;
	__u64 number;	    /* see untyped() */
	__u64 draw;	    /* the call's, for those who sample; 0: none yet */
	__u64 registers;    /* of its system calls, known from the end of one; 0: it may not make any */
	__u64 known_ns;	    /* `begun_last_ns` then: hooks have not been taken off since */
	__u32 settled;	    /* runs that were there when `reached` was */
	__u32 count;
	struct run runs[RUNS];
};

ARRAY_OF(cache_calls, struct cache_call, CACHE_CALLS, 0);

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

static __always_inline struct cache_call *call_find(__u64 thread)
{
	return place_find(&cache_calls, CACHE_CALLS, thread);
}

static __always_inline bool run_begun(struct iotr_control *page, const struct run *run)
{
	return filter_begun(page, run->sessions, run->start_ns);
}

/* Rid of what no hook saw the end of: nobody is left who wants the last of it. */
static __always_inline void call_tidy(struct iotr_control *page, struct cache_call *call)
{
	if (call->count && !run_begun(page, &call->runs[(call->count - 1) & (RUNS - 1)]))
		call->count = call->settled = 0;
	if (call->asked.count && !run_begun(page, &call->asked))
		call->asked.count = 0;
}

/* The thread's; NULL: others have both places that it could have. */
static __always_inline struct cache_call *call_take(struct iotr_control *page, __u64 thread)
{
	struct cache_call *call = call_find(thread);

	if (call) {
		call_tidy(page, call);
		return call;
	}
	for (__u32 way = 0; way < 2; way++) {
		call = place_at(&cache_calls, CACHE_CALLS, thread, way);
		if (!call)
			return NULL;
		call_tidy(page, call);
		if (call->count || call->asked.count)
			continue;
		call->thread = thread;
		call->due_mapping = 0;
		call->draw = 0;
		call->registers = 0;
		return call;
	}
	return NULL;
}

/* ---- sampling: what one call does is drawn as a whole, as what is a HIT follows from all of it ---- */

/*
 * Whether the thread's call is one that all who want the cache leave out. To be asked before
 * anything else. A call that is not drawn yet `may` be: where its end will be seen, and that
 * without having to ask who runs, which is when the thread has made a call before.
 */
static __always_inline bool sampled_out(struct iotr_control *page, __u64 thread, bool may)
{
	struct cache_call *call;

	if (page->wanted[IOTR_CACHE] & ~page->sampled[IOTR_CACHE])
		return false;
	call = call_find(thread);
	if (!call || !call->registers || call->known_ns != page->begun_last_ns)
		return false;
	if (!call->draw) {
		if (!may || (__s64)READ(struct pt_regs, call->registers, orig_ax) < 0)
			return false;
		call->draw = sample_draw() | 1;
	}
	return call->draw >= page->sample_most[IOTR_CACHE];
}

/* Of all others. What is done outside of calls, and by threads of the kernel, is drawn folio by folio. */
static __always_inline __u64 sample_call(struct iotr_control *page, struct cache_call *call, __u64 sessions)
{
	if (!(sessions & page->sampled[IOTR_CACHE]))
		return sessions;
	if (!call->draw)
		call->draw = sample_draw() | 1;
	return sample_by(IOTR_CACHE, sessions, call->draw);
}

/* A pointer as a number: what has been in a map has no type any more. */
static __always_inline __u64 untyped(struct cache_call *call, const void *pointer)
{
	volatile __u64 *number = &call->number;

	*number = (__u64)pointer;
	return *number;
}

/* A row for a part of one of the thread's runs, or of what was asked for. Verified once. */
__noinline int emit(__u64 thread, __u32 which, __u32 operation, __u64 index, __u64 count)
{
	struct iotr_control *page = control_page();
	struct cache_call *call = call_find(thread);
	struct task_struct *task = current_task();
	struct iotr_cache_record *row;
	struct iotr_command command;
	const struct run *run;
	__u64 sessions;

	if (!page || !call || !count)
		return 0;
	run = which < RUNS ? &call->runs[which & (RUNS - 1)] : &call->asked;
	sessions = filter_begun(page, run->sessions & wanted(page, operation), run->start_ns);
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
static __always_inline void emit_added(__u64 thread, __u32 which, const struct run *run,
				       struct range range)
{
	emit(thread, which, IOTR_CACHE_READAHEAD, run->index, range.from - run->index);
	emit(thread, which, IOTR_CACHE_MISS, range.from, range.to - range.from);
	emit(thread, which, IOTR_CACHE_READAHEAD, range.to, run->index + run->count - range.to);
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
__noinline __u64 finish_run(__u64 thread, __u32 which, __u64 known)
{
	struct cache_call *call = call_find(thread);
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
		emit(thread, which, run->operation, run->index, run->count);
	} else if (run->operation == RUN_ADDED) {
		if (asked->count && asked->mapping == run->mapping) {
			range = common(run, asked->index, asked->count);
			if (range.from < range.to) {
				if (range.from > known)
					emit(thread, ASKED, IOTR_CACHE_HIT, known, range.from - known);
				known = range.to;
			}
			emit_added(thread, which, run, range);
		} else if (!tells_reads() || run->cached.file.inode == IOTR_UNKNOWN) {
			emit_added(thread, which, run, common(run, run->index, run->count));
		} else if (call->due_mapping == run->mapping) {
			emit_added(thread, which, run, common(run, call->due_index, call->due_count));
		} else {
			emit_added(thread, which, run, common(run, 0, 0));
		}
	}
	run->operation = RUN_DONE;
	return known;
}

/* Writes the first runs of the thread's call, and what was asked for. Verified once. */
__noinline int finish(__u64 thread, __u32 runs)
{
	struct cache_call *call = call_find(thread);
	__u64 known, end;

	if (!call)
		return 0;
	known = call->asked.index;
	for (__u32 i = 0; i < RUNS && i < runs && i < call->count; i++)
		known = finish_run(thread, i, known);
	end = call->asked.index + call->asked.count;
	if (call->asked.count && known < end)
		emit(thread, ASKED, IOTR_CACHE_HIT, known, end - known);
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

/*
 * Fills a run with all but its operation; false when no session wants its file. `file` is an open
 * file of it, or 0.
 */
static __always_inline bool run_begin(struct iotr_control *page, struct run *run, __u64 mapping,
				      __u64 file, __u64 index, __u64 count, __u64 sessions)
{
	__u64 inode = ADDRESS(struct address_space, mapping, host);

	if (!cached_fill(inode, &run->cached))
		return false;
	run->sessions = filter_device(page, sessions, run->cached.file.device);
	run->sessions = file ? filter_file(page, run->sessions, file) :
			       filter_inode(page, run->sessions,
					    run->cached.file.inode == IOTR_UNKNOWN ? 0 : inode);
	if (!run->sessions)
		return false;
	if (run->cached.file.inode != IOTR_UNKNOWN)
		run->cached.file.name = file ? name_of_file(file) : name_of_inode(inode);
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
		finish(call->thread, RUNS);
	run = &call->runs[call->count & (RUNS - 1)];
	if (!run_begin(page, run, mapping, 0, index, count, sessions))
		return;
	run->operation = operation;
	call->count++;
}
