/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations on consecutive pages (runs), gathered by thread until its system call ends; see cache.bpf.c. */
#pragma once

#include "pagecache.bpf.h"
#include "flow.bpf.h"
#include "remembered.bpf.h"

#define RUNS	   8 /* runs that one call gathers before they are written; a power of two */
#define ASKED	   RUNS /* as a run's number: the range asked for */
#define RUN_ADDED  32 /* pages added, of which it is not decided yet what they are; above all operations */
#define RUN_DONE   33
#define CACHE_CALLS 2048 /* calls in flight, two-way associative by thread */

/* Consecutive pages of one file, and what was done to them. */
struct run {
	struct cached cached;
	__u64 mapping;
	__u64 index;
	__u64 count;
	__u64 start_ns;
	__u64 sessions; /* session mask: those whose filters by task and file accept it */
	__u64 flow; /* of the call that it happens in, 0: none is known */
	struct iotr_command command; /* the task's name at the start: execve changes it while it reads */
	__u32 operation; /* enum iotr_cache_operation or RUN_* */
	__u32 pad;
};

/* What a thread has done to the page cache since its system call began. */
struct cache_call {
	__u64 thread;
	struct run asked;   /* the range that a read asks for, as far as mm_filemap_get_pages has reported it */
	__u64 expected;	    /* its pages by the call's arguments; 0: not looked at; see asked_early() */
	__u64 known;	    /* the pages of `asked` before this one have their rows */
	__u64 told_from;    /* to told_to, excluded: added pages that got rows before it was known what for */
	__u64 told_to;
	__u64 told_mapping; /* of told_from and told_to; 0: there are none */
	__u64 reached;	    /* page of `asked` that the read has reached */
	__u64 last;	    /* page that this read ends with, also if the file ends before */
	__u64 due_mapping;  /* pages that the current page fault or readahead is for; 0: none */
	__u64 due_index;
	__u64 due_count;
	__u64 due_from;	    /* pages of them that were told as a MISS, one after the other, */
	__u64 due_to;	    /* up to this one, excluded */
	__u64 draw;	    /* random number of the call, for sessions that sample; 0: not drawn yet */
	__u64 registers;    /* struct pt_regs of its system calls; 0: no end of one was seen, it may make none */
	__u64 known_ns;	    /* `begun_last_ns` then; as long as it is the same, the hooks have stayed attached */
	__u32 settled;	    /* number of runs when `reached` was set */
	__u32 count;
	__u32 requested;    /* what is due is for a request of io_uring */
	__u32 apart;	    /* the next run is not to go on with the last one */
	struct run runs[RUNS];
};

ARRAY_OF(cache_calls, struct cache_call, CACHE_CALLS, 0);

static __always_inline __u64 wanted(struct iotr_control *page, __u32 operation)
{
	return page->operation[IOTR_CACHE][operation & (IOTR_OPERATIONS_MAX - 1)];
}

/* Sessions that record HIT, MISS or READAHEAD, which all depend on what is read. */
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
				     __u64 index, __u64 count, __u64 flow)
{
	row->file = cached->file;
	row->size = cached->size;
	row->index = index;
	row->count = count;
	row->flow = flow;
}

static __always_inline struct cache_call *call_find(__u64 thread)
{
	return thread_entry(THREAD_MAP(cache_calls, CACHE_CALLS), thread);
}

static __always_inline bool run_begun(struct iotr_control *page, const struct run *run)
{
	return filter_begun(page, run->sessions, run->start_ns);
}

/* Number of pages that are asked for; 0: no read is known. */
static __always_inline __u64 asked_pages(const struct cache_call *call)
{
	return call->asked.count > call->expected ? call->asked.count : call->expected;
}

/* Whether there are any. */
static __always_inline bool asks(const struct cache_call *call)
{
	return call->asked.count | call->expected;
}

static __always_inline void asked_clear(struct cache_call *call)
{
	call->asked.count = 0;
	call->expected = 0;
}

/* Drops what was left behind by a call whose end was not seen, if the sessions it was for have ended. */
static __always_inline void call_tidy(struct iotr_control *page, struct cache_call *call)
{
	if (call->count && !run_begun(page, &call->runs[(call->count - 1) & (RUNS - 1)]))
		call->count = call->settled = 0;
	if (asks(call) && !run_begun(page, &call->asked))
		asked_clear(call);
}

/* The thread's entry, taken if it has none; NULL: calls of other threads occupy both that it could have. */
static __always_inline struct cache_call *call_take(struct iotr_control *page, __u64 thread)
{
	struct cache_call *call = call_find(thread);

	if (call) {
		call_tidy(page, call);
		return call;
	}
	for (__u32 way = 0; way < 2; way++) {
		call = thread_entry_at(THREAD_MAP(cache_calls, CACHE_CALLS), thread, way);
		if (!call)
			return NULL;
		call_tidy(page, call);
		if (call->count || asks(call))
			continue;
		call->thread = thread;
		call->told_mapping = 0;
		call->due_mapping = 0;
		call->apart = 0;
		call->draw = 0;
		call->registers = 0;
		return call;
	}
	return NULL;
}

/* ---- sampling: one draw for all that a call does, as what is a HIT follows from all of it ---- */

/*
 * Whether the thread's call is in no session's sample; to be called first, as it is cheap. `may`: a call
 * without a draw gets one here if its end will be seen, which is known without reading the task once the
 * end of an earlier call of the thread was seen.
 */
static __always_inline bool sampled_out(struct iotr_control *page, __u64 thread, bool may)
{
	struct cache_call *call;

	if (!page->sampled[IOTR_CACHE] || page->wanted[IOTR_CACHE] & ~page->sampled[IOTR_CACHE])
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

/* Applies sampling to what sampled_out() let pass. Outside of calls, and in kernel threads, each folio has a draw. */
static __always_inline __u64 sample_call(struct iotr_control *page, struct cache_call *call, __u64 sessions)
{
	if (!(sessions & page->sampled[IOTR_CACHE]))
		return sessions;
	if (!call->draw)
		call->draw = sample_draw() | 1;
	return sample_by(IOTR_CACHE, sessions, call->draw);
}

/* Writes a row for a part of a run of the current task. */
static __always_inline void run_row(struct iotr_control *page, struct task_struct *task, const struct run *run,
				    __u32 operation, __u64 index, __u64 count)
{
	struct iotr_cache_record *row;
	__u64 sessions;

	sessions = filter_begun(page, run->sessions & wanted(page, operation), run->start_ns);
	sessions = filter_end(page, sessions, 0, count << PAGE_SHIFT, false);
	if (!sessions)
		return;
	row = row_begin_at(IOTR_CACHE, operation, sizeof(*row), sessions, true);
	if (!row)
		return;
	head_fill(&row->head, sessions, run->start_ns, run->start_ns);
	head_fill_task(&row->head, task);
	__builtin_memcpy(row->head.command, run->command.text, sizeof(row->head.command));
	row_fill(row, &run->cached, index, count, run->flow);
	row_commit(row);
}

/* The same by the number of one of the thread's runs, or of the range asked for. A global function. */
__noinline int emit(__u64 thread, __u32 which, __u32 operation, __u64 index, __u64 count)
{
	struct iotr_control *page = control_page();
	struct cache_call *call = call_find(thread);

	if (page && call && count)
		run_row(page, current_task(), which < RUNS ? &call->runs[which & (RUNS - 1)] : &call->asked, operation, index, count);
	return 0;
}

/* ---- what a run of added pages is ---- */

struct range {
	__u64 from, to; /* `to` is the first page after the range */
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

/* Writes the rows of an added run: MISS in `range`, READAHEAD outside of it. */
static __always_inline void emit_added(__u64 thread, __u32 which, const struct run *run,
				       struct range range)
{
	emit(thread, which, IOTR_CACHE_READAHEAD, run->index, range.from - run->index);
	emit(thread, which, IOTR_CACHE_MISS, range.from, range.to - range.from);
	emit(thread, which, IOTR_CACHE_READAHEAD, range.to, run->index + run->count - range.to);
}

/* Updates the file's size in a run of dirty pages, as the write may have extended the file. */
static __always_inline void size_refresh(struct run *run)
{
	__u64 inode = ADDRESS(struct address_space, run->mapping, host);
	struct cached now;

	if (!inode || !cached_below(inode, &now))
		return;
	if (is_stacking(control_page()))
		backed_tell(backed_known(number_of(inode)), &now.file);
	if (now.file.inode == run->cached.file.inode && now.file.device == run->cached.file.device)
		run->cached.size = now.size;
}

/* Writes the rows of an added run of the file asked for, and the HIT of the range before it. Each page gets one row. */
static __always_inline void emit_asked(struct cache_call *call, __u32 which, const struct run *run)
{
	__u64 end = call->asked.index + asked_pages(call);
	struct range range = common(run, call->known, call->known < end ? end - call->known : 0);

	if (range.from < range.to) {
		emit(call->thread, ASKED, IOTR_CACHE_HIT, call->known, range.from - call->known);
		call->known = range.to;
	}
	emit_added(call->thread, which, run, range);
}

/* Writes the rows of an added run when the range is not known, or nothing is read. */
static __always_inline void emit_unasked(struct cache_call *call, __u32 which, const struct run *run)
{
	if (call->told_mapping != run->mapping || call->told_to != run->index)
		call->told_from = run->index;
	call->told_mapping = run->mapping;
	call->told_to = run->index + run->count;
	if (!tells_reads() || run->cached.file.inode == IOTR_UNKNOWN)
		emit_added(call->thread, which, run, common(run, run->index, run->count));
	else if (call->due_mapping == run->mapping)
		emit_added(call->thread, which, run, common(run, call->due_index, call->due_count));
	else
		emit_added(call->thread, which, run, common(run, 0, 0));
}

/* Ends one run and writes its rows. A global function. */
__noinline int finish_run(__u64 thread, __u32 which)
{
	struct cache_call *call = call_find(thread);
	struct run *run;

	if (!call)
		return 0;
	run = &call->runs[which & (RUNS - 1)];
	if (run->operation == IOTR_CACHE_DIRTY)
		size_refresh(run);
	if (run->operation < RUN_ADDED)
		emit(thread, which, run->operation, run->index, run->count);
	else if (run->operation == RUN_ADDED && asks(call) && call->asked.mapping == run->mapping)
		emit_asked(call, which, run);
	else if (run->operation == RUN_ADDED)
		emit_unasked(call, which, run);
	run->operation = RUN_DONE;
	return 0;
}

/* Ends the first `runs` runs of the thread's call. A global function. */
__noinline int finish_runs(__u64 thread, __u32 runs)
{
	struct cache_call *call = call_find(thread);

	if (!call)
		return 0;
	for (__u32 i = 0; i < RUNS && i < runs && i < call->count; i++)
		finish_run(thread, i);
	call->settled = 0;
	if (runs >= call->count)
		call->count = 0;
	return 0;
}

/* The same, and writes the HIT of the rest of the range asked for. */
static __always_inline void finish_call(struct cache_call *call, __u32 runs)
{
	__u64 end;

	if (call->count)
		finish_runs(call->thread, runs);
	else
		call->settled = 0;
	end = call->asked.index + call->asked.count;
	if (call->asked.count && call->known < end)
		emit(call->thread, ASKED, IOTR_CACHE_HIT, call->known, end - call->known);
	asked_clear(call);
}

/* The same, of the thread's call. A global function. */
__noinline int finish(__u64 thread, __u32 runs)
{
	struct cache_call *call = call_find(thread);

	if (call)
		finish_call(call, runs);
	return 0;
}

/* ---- pages added, made dirty, removed ---- */

/* Takes pages that become dirty out of the added runs: they were added to be written, not read. */
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
	    run->index + run->count != index || call->apart)
		return false;
	run->count += count;
	return true;
}

/* Pages that a run is of. */
struct pages {
	__u64 mapping;
	__u64 inode; /* the mapping's */
	__u64 file; /* an open file of the mapping, or 0 */
	__u64 index;
	__u64 count;
};

static __always_inline __u64 mapping_inode(__u64 mapping)
{
	return ADDRESS(struct address_space, mapping, host);
}

/*
 * Fills in what a run says of its file; `file` is an open file of the mapping, or 0. If the run has a name then, the file is
 * remembered under it. False: the file is on a pseudo file system.
 */
static __always_inline bool run_file(struct iotr_control *page, struct run *run, __u64 inode, __u64 file, struct opened *opened)
{
	__u64 hashed, own;

	if (!REMEMBERS || !file)
		return cached_fill(inode, &run->cached);
	own = number_of(file_place(file, NULL, &opened->place, &hashed)); /* a stacked file system's has its pages in another inode */
	if (!remembered_held(page, opened->place, own, hashed, &run->cached.file, &opened->then))
		return cached_fill(own, &run->cached);
	run->cached.file.flags = 0;
	run->cached.size = size_in_pages(inode);
	return true;
}

/* Fills in the name of the file of a run, which is none of a block device. */
static __always_inline void run_name(struct run *run, __u64 inode, __u64 file, const struct opened *opened)
{
	struct place place;

	if (!REMEMBERS || !file) {
		run->cached.file.name = file ? name_of_place(place_of_file(file)) : name_of_inode(inode);
		return;
	}
	if (run->cached.file.name && name_known(run->cached.file.name))
		return;
	place.dentry = number_of(opened->place.dentry);
	place.mount = number_of(opened->place.mount);
	run->cached.file.name = name_of(place);
	remember_held(place, &run->cached.file, &opened->then);
}

/*
 * Fills in a run of pages of a thread, which is the current task, except for its operation; false if no session accepts its
 * file.
 */
static __always_inline bool run_begin(struct iotr_control *page, __u64 thread, struct task_struct *task, struct run *run,
				      const struct pages *pages, __u64 sessions)
{
	__u64 inode = pages->inode, file = pages->file;
	struct opened opened = {};

	if (!run_file(page, run, inode, file, &opened))
		return false;
	run->sessions = filter_device(page, sessions, run->cached.file.device);
	run->sessions = file ? filter_file(page, run->sessions, file) :
			       filter_inode(page, run->sessions,
					    run->cached.file.inode == IOTR_UNKNOWN ? 0 : inode);
	if (!run->sessions)
		return false;
	if (run->cached.file.inode != IOTR_UNKNOWN)
		run_name(run, inode, file, &opened);
	run->mapping = pages->mapping;
	run->index = pages->index;
	run->count = pages->count;
	run->start_ns = bpf_ktime_get_ns();
	run->flow = flow_of(page, thread, run->start_ns);
	task_command(task, &run->command);
	return true;
}

static __always_inline void run_add(struct iotr_control *page, struct cache_call *call, __u64 mapping,
				    __u64 index, __u64 count, __u32 operation, __u64 sessions)
{
	const struct pages pages = { mapping, mapping_inode(mapping), 0, index, count };
	struct run *run = &call->runs[call->count & (RUNS - 1)];

	if (!run_begin(page, call->thread, current_task(), run, &pages, sessions))
		return;
	run->operation = operation;
	call->count++;
	call->apart = false;
}
