/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The range of pages that a read asks for: from the kernel's tracepoint or, before that, from the call's arguments. */
#pragma once

#include "cache_runs.bpf.h"
#include "iovec.bpf.h"

#define NR_execve   59
#define NR_execveat 322

/* What the system call in flight reads of a mapping, from its arguments. */
struct reading {
	__u64 file; /* address of the open file; 0: none, or it is of another mapping, as in a page fault of the user's buffer */
	__u64 position;
	__u64 bytes;
};

static __always_inline __u64 position_at(__u64 pointer)
{
	__u64 position = IOTR_UNKNOWN;

	if (pointer)
		bpf_probe_read_user(&position, sizeof(position), (void *)pointer);
	return position;
}

/* What call_reading() finds out of the bytes, a constant. */
enum reading_bytes {
	BYTES_UNASKED,
	BYTES_AT_HAND, /* not those of vectors: 0 */
	BYTES_ALL,
};

/*
 * What the system call `number` of a task, which is the current one, reads of a mapping of `inode`. False: it is no call that reads,
 * and only `file` is set.
 */
static __always_inline bool call_reading_of(struct task_struct *task, struct pt_regs *regs, __s64 number, __u64 inode,
					    enum reading_bytes how, struct reading *ret)
{
	__u32 fd = REGISTER(regs, di);
	bool reads = true;

	ret->file = 0;
	ret->bytes = 0;
	ret->position = IOTR_UNKNOWN; /* that of the open file */
	if (abi_of(task) == IOTR_ABI_COMPAT)
		return false;
	switch (number) {
	case NR_pread64:
		ret->position = REGISTER(regs, r10);
		/* fall through */
	case NR_read:
		if (how != BYTES_UNASKED)
			ret->bytes = REGISTER(regs, dx);
		break;
	case NR_preadv:
	case NR_preadv2:
		ret->position = REGISTER(regs, r10);
		/* fall through */
	case NR_readv:
		if (how == BYTES_ALL)
			ret->bytes = iovec_bytes(REGISTER(regs, si), REGISTER(regs, dx), false);
		break;
	case NR_sendfile64:
		fd = REGISTER(regs, si);
		ret->position = position_at(REGISTER(regs, dx));
		if (how != BYTES_UNASKED)
			ret->bytes = REGISTER(regs, r10);
		break;
	case NR_splice:
	case NR_copy_file_range:
		ret->position = position_at(REGISTER(regs, si));
		if (how != BYTES_UNASKED)
			ret->bytes = REGISTER(regs, r8);
		break;
	default:
		reads = false;
	}
	ret->file = file_of_fd(task, fd);
	if (ret->file && file_inode(ret->file) != inode &&
	    !(is_stacking(control_page()) && stands_for(number_of(ret->file), number_of(inode))))
		ret->file = 0;
	if (ret->file && ret->position == IOTR_UNKNOWN)
		ret->position = READ(struct file, ret->file, f_pos);
	return reads;
}

/* The same of the call in flight, with all bytes. */
static __always_inline bool call_reading(__u64 mapping, struct reading *ret)
{
	struct task_struct *task = current_task();
	struct pt_regs *regs = registers_of(task);

	return call_reading_of(task, regs, call_number(regs), mapping_inode(mapping), BYTES_ALL, ret);
}

/*
 * The first page of a read that has reached page `index`: the tracepoint is not hit for earlier pages
 * that the read had to wait for.
 */
static __always_inline __u64 asked_from(const struct cache_call *call, __u64 mapping, __u64 begin,
					__u64 index)
{
	if (begin == IOTR_UNKNOWN && call->due_mapping == mapping &&
	    call->due_index + call->due_count >= index)
		begin = call->due_index;
	return begin < index ? begin : index;
}

/* A read that has reached page `index` of a range that ends with page `last`, by the call with that number. */
struct asking {
	struct task_struct *task; /* the current one */
	struct pt_regs *regs;
	__s64 number;
	__u64 mapping;
	__u64 inode; /* the mapping's */
	__u64 index;
	__u64 last;
	__u64 missed; /* the pages before this one have their rows, as the request that reads has missed them; 0: none have */
	__u64 bound;  /* nothing is known of the pages from this one on; 0: all are asked for */
};

/*
 * Whether a call whose range begins and ends in one page reads nothing else: ranges are of all that it reads, unless it reads
 * in pieces.
 */
static __always_inline bool reads_within(__s64 number, const struct reading *reading)
{
	if (number == NR_pread64 || number == NR_read)
		return true;
	return reading->bytes - 1 < PAGE_BYTES - (reading->position & (PAGE_BYTES - 1)); /* not 0, which is that of vectors */
}

/*
 * Begins a new range; false: no session accepts the file. `alone` is set: the call reads of the page that it has reached, and
 * nothing else, and has not added pages to the cache.
 */
static __always_inline bool ask_anew(struct iotr_control *page, struct cache_call *call, const struct asking *asking,
				     __u64 sessions, bool *alone)
{
	struct pages pages = { .mapping = asking->mapping, .inode = asking->inode };
	__u64 begin = IOTR_UNKNOWN;
	struct reading reading;

	if (call_reading_of(asking->task, asking->regs, asking->number, asking->inode, BYTES_AT_HAND, &reading) &&
	    reading.file) {
		begin = reading.position >> PAGE_SHIFT;
		*alone = begin == asking->index && begin == asking->last && !call->count && reads_within(asking->number, &reading);
	}
	pages.file = reading.file;
	pages.index = asked_from(call, asking->mapping, begin, asking->index);
	return run_begin(page, call->thread, asking->task, &call->asked, &pages, sessions);
}

/* Sets `known` of a new range, for whose first pages emit_unasked() may already have written rows. */
static __always_inline void known_from(struct cache_call *call, __u64 last)
{
	struct run *asked = &call->asked;

	call->known = asked->index;
	if (call->told_mapping == asked->mapping && call->told_from >= asked->index && call->told_from <= last)
		call->known = call->told_to;
}

/*
 * Whether the call that began the range asked for has come to page `index` of the same file. A call that reads in pieces, as
 * sendfile does, may pass the end of the range without the tracepoint: it is not hit for pages that the read gets while the
 * last one of their batch is still being read. A global function.
 */
__noinline int reads_on(__u64 thread, __u64 mapping, __u64 index)
{
	struct cache_call *call = call_find(thread);
	struct reading reading;

	if (!call || !call_reading(mapping, &reading) || !reading.file || reading.position >> 63 || reading.bytes >> 63)
		return false;
	return call->asked.index >= reading.position >> PAGE_SHIFT &&
	       index < (reading.position + reading.bytes + PAGE_BYTES - 1) >> PAGE_SHIFT;
}

/* Whether a call reads its file in pieces, of which one may begin in the page that the one before ended in. */
static __always_inline bool in_pieces(__s64 number)
{
	switch (number) {
	case NR_sendfile64:
	case NR_splice:
	case NR_copy_file_range:
	case NR32_sendfile64:
	case NR32_sendfile:
	case NR32_splice:
	case NR32_copy_file_range:
		return true;
	default:
		return false;
	}
}

/*
 * Whether another read of the same call asks for pages of the range once more: io_submit and io_uring_enter make many, and
 * execve looks at the head of its program twice. The batches of one read begin ever further on, and tell the same last page.
 */
static __always_inline bool asks_again(const struct cache_call *call, const struct asking *asking)
{
	if (asking->index >= call->asked.index + call->asked.count)
		return false;
	if (asking->index > call->reached && asking->last == call->last)
		return false;
	return !in_pieces(asking->number);
}

/* Whether it is the call itself that reads a file while it runs, and no request of io_uring that goes on at its end. */
static __always_inline bool reads_itself(__s64 number)
{
	switch (number) {
	case NR_read:
	case NR_pread64:
	case NR_readv:
	case NR_preadv:
	case NR_preadv2:
	case NR_io_submit:
	case NR32_io_submit:
	case NR_execve:
	case NR_execveat:
		return true;
	default:
		return in_pieces(number);
	}
}

/*
 * Writes the row of a new range of one page that is there, of which its call wants no other: all is known already. The range is
 * left empty, so that the end of the call has nothing to do; if the page is asked for again, known_from() finds that it was told.
 */
static __always_inline void ask_alone(struct iotr_control *page, struct cache_call *call, const struct asking *asking)
{
	call->told_mapping = asking->mapping;
	call->told_from = asking->index;
	call->told_to = asking->index + 1;
	run_row(page, asking->task, &call->asked, IOTR_CACHE_HIT, asking->index, 1);
}

static __always_inline void ask(struct iotr_control *page, struct cache_call *call, const struct asking *asking,
				__u64 sessions)
{
	__u64 last = asking->last;
	struct run *asked = &call->asked;
	bool alone = false;

	if (!asks(call) || asked->mapping != asking->mapping || asking->index < asked->index || asking->missed ||
	    asks_again(call, asking) ||
	    (asking->index > asked->index + asked_pages(call) && !reads_on(call->thread, asking->mapping, asking->index))) {
		if (call->count || asks(call))
			finish(call->thread, call->settled);
		if (!ask_anew(page, call, asking, sessions, &alone))
			return;
		if (alone && asking->index < asked->cached.size && call->told_mapping != asking->mapping) {
			ask_alone(page, call, asking);
			return;
		}
		known_from(call, last);
		if (asking->missed > call->known)
			call->known = asking->missed;
	}
	if (asking->bound)
		last = asking->bound - 1;
	if (last >= asked->cached.size)
		last = asked->cached.size - 1;
	if (asked->cached.size && last + 1 > asked->index + asked->count)
		asked->count = last + 1 - asked->index;
	call->reached = asking->missed ? last : asking->index; /* a request that goes on does not fail with the call */
	call->last = asking->last;
	call->settled = call->count;
}

/* ---- more than RUNS runs, before the tracepoint has reported all that the call reads ---- */

/* The pages of the mapping that the call in flight asks for, or that readahead in progress is for; false: none. */
static __always_inline bool asked_early(const struct cache_call *call, __u64 mapping, struct range *ret)
{
	struct reading reading;

	if (call_reading(mapping, &reading)) {
		if (!reading.file || reading.position >> 63 || reading.bytes >> 63)
			return false;
		ret->from = reading.position >> PAGE_SHIFT;
		ret->to = (reading.position + reading.bytes + PAGE_BYTES - 1) >> PAGE_SHIFT;
		return true;
	}
	if (call->due_mapping != mapping || !call->due_count ||
	    (asks(call) && call->asked.mapping != mapping))
		return false;
	ret->from = call->due_index;
	ret->to = call->due_index + call->due_count;
	return true;
}

/* Sets the range that the runs since the last mm_filemap_get_pages were added for. A global function. */
__noinline int expect(__u64 thread, __u64 sessions)
{
	struct iotr_control *page = control_page();
	struct cache_call *call = call_find(thread);
	struct run *asked, *last;
	struct pages pages;
	struct range range;

	if (!page || !call || !tells_reads())
		return 0;
	asked = &call->asked;
	last = &call->runs[(call->count - 1) & (RUNS - 1)];
	if (last->operation != RUN_ADDED || !asked_early(call, last->mapping, &range))
		return 0;
	if (!asks(call) || asked->mapping != last->mapping || range.from < asked->index ||
	    range.from > asked->index + asked_pages(call)) {
		finish(thread, call->settled);
		pages = (struct pages){ last->mapping, mapping_inode(last->mapping), 0, range.from, 0 };
		if (!run_begin(page, thread, current_task(), asked, &pages, sessions))
			return 0;
		call->reached = range.from - 1;
		call->known = range.from;
	}
	if (range.to > asked->cached.size)
		range.to = asked->cached.size;
	if (range.to > asked->index)
		call->expected = range.to - asked->index;
	return 0;
}

/* Writes the rows of the call's runs, so that it can gather new ones. */
static __always_inline void make_room(struct cache_call *call, __u64 sessions)
{
	expect(call->thread, sessions);
	finish_runs(call->thread, RUNS);
}
