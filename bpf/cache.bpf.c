// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page cache. One operation on consecutive pages within one system call makes one row, which is
 * written when the call ends, or at once if it is a HIT of a call that reads of one page alone. Outside of
 * system calls (page faults, kernel threads) each folio makes a row at once.
 *
 * A read asks for a range of pages (mm_filemap_get_pages). Of the pages that its call adds to the
 * cache, those in the range are a MISS, those outside are READAHEAD; the rest of the range was in the
 * cache already: a HIT. So HIT + MISS is what was asked for, up to the end of the file, and MISS +
 * READAHEAD is what was added. A page that an earlier call read ahead is a HIT for the call that
 * reads it. Pages added to be written, which are dirty when the call ends, are none of these.
 *
 * Every page that is added is a MISS on kernels without mm_filemap_get_pages, and if it is a block
 * device's own page that no read asks for, but the kernel for itself.
 */
#include "cache_requests.bpf.h"
#include "cache_writeback.bpf.h"
#include "plugged.bpf.h"

/*
 * The thread's entry in cache_calls, and in `sessions` those that are left after sampling. NULL: there
 * is no room; what the call does is counted as lost.
 */
static __always_inline struct cache_call *call_for(struct iotr_control *page, __u64 thread, __u64 *sessions)
{
	struct cache_call *call = call_take(page, thread);

	if (call)
		*sessions = sample_call(page, call, *sessions);
	else
		row_unmatched(IOTR_CACHE, *sessions);
	return call;
}

/* ---- pages added, made dirty, removed ---- */

/* Adds one folio to the runs of the thread's call. A global function. */
__noinline int note(__u64 thread, __u64 mapping, __u64 index, __u64 count, __u32 operation)
{
	struct iotr_control *page = control_page();
	__u32 flags = FOLLOW(current_task(), flags);
	struct cache_call *call;
	__u64 sessions;

	if (!page)
		return 0;
	if (operation == IOTR_CACHE_DIRTY) {
		call = call_find(thread);
		if (call)
			forget_added(call, mapping, index, count);
	}
	sessions = operation == RUN_ADDED ? wanted_reads(page) : wanted(page, operation);
	sessions = filter_current(page, sessions);
	if (!sessions)
		return 0;
	call = call_for(page, thread, &sessions);
	if (!call)
		return 0;
	if (sessions && !run_extend(call, mapping, index, count, operation)) {
		if (call->count >= RUNS)
			make_room(call, sessions);
		run_add(page, call, mapping, index, count, operation, sessions);
	}
	if (call_ends(flags, operation))
		return 0;
	finish(thread, RUNS);
	call->draw = 0;
	return 0;
}

/* Whether the thread's call is in no sample. Removals make no new draw: files are closed after the end of calls. */
static __always_inline bool left_out(const void *arguments, bool removes)
{
	struct iotr_control *page = control_page();

	return !page || sampled_out(page, thread_at(arguments), !removes);
}

static __always_inline int folio_seen(const void *arguments, __u64 folio, __u32 operation)
{
	__u64 mapping = folio_mapping(folio);

	if (mapping)
		note(thread_at(arguments), mapping, folio_index(folio), folio_pages(folio), operation);
	return 0;
}

/* Pages that a request of io_uring has brought in. `reaches`: it will be seen to reach them. */
static __always_inline void added_for_request(__u64 thread, struct cache_call *call, const struct pages *pages,
					      bool reaches)
{
	const struct run run = { .index = pages->index, .count = pages->count };
	struct range range = common(&run, call->due_index, call->due_count), between;
	__u64 mapping = pages->mapping;

	if (range.from > pages->index)
		note(thread, mapping, pages->index, range.from - pages->index, IOTR_CACHE_READAHEAD);
	if (range.to > range.from && reaches) {
		between = requested_between(call, range);
		if (between.to > between.from)
			note(thread, mapping, between.from, between.to - between.from, IOTR_CACHE_HIT);
		requested_note(call, mapping, range);
	}
	if (range.to > range.from)
		note(thread, mapping, range.from, range.to - range.from, IOTR_CACHE_MISS);
	if (pages->index + pages->count > range.to)
		note(thread, mapping, range.to, pages->index + pages->count - range.to, IOTR_CACHE_READAHEAD);
}

/* Pages that the thread adds, where the kernel tells what reads ask for. */
static __always_inline void added(struct iotr_control *page, const void *arguments, __u64 folio)
{
	const struct pages pages = { .mapping = folio_mapping(folio), .index = folio_index(folio), .count = folio_pages(folio) };
	__u64 thread = thread_at(arguments), request;
	struct cache_call *call = call_find(thread);
	bool works = is_uring_thread(current_task());

	if (!pages.mapping)
		return;
	request = works ? request_of_worker(current_task()) : 0;
	if (request && uring_set(READ(struct io_kiocb, request, opcode)) & URING_WRITES)
		return; /* a worker makes no call at whose end they would be dirty */
	if (request && !call)
		call = call_take(page, thread);
	if (request && call)
		request_due(call, request);
	if (adds_requested(call, pages.mapping))
		added_for_request(thread, call, &pages, !works);
	else
		note(thread, pages.mapping, pages.index, pages.count, RUN_ADDED);
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(cache_add, void *folio)
{
	struct iotr_control *page = control_page();

	if (!page || left_out(ctx, false))
		return 0;
	if (!tells_reads())
		return folio_seen(ctx, (__u64)folio, RUN_ADDED);
	added(page, ctx, (__u64)folio);
	return 0;
}

SEC("tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(cache_delete, void *folio)
{
	if (left_out(ctx, true))
		return 0;
	return folio_seen(ctx, (__u64)folio, removal(FOLLOW(current_task(), flags)));
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(cache_dirty_folio, void *folio)
{
	return left_out(ctx, false) ? 0 : folio_seen(ctx, (__u64)folio, IOTR_CACHE_DIRTY);
}

SEC("tp_btf/writeback_dirty_page")
int BPF_PROG(cache_dirty_page, void *page)
{
	return left_out(ctx, false) ? 0 : folio_seen(ctx, (__u64)page, IOTR_CACHE_DIRTY);
}

/* ---- what is asked for ---- */

/* What a request of io_uring has missed that may go on here, rather than that the call in flight reads. */
static __always_inline void request_reaches(struct iotr_control *page, __u64 thread, struct asking *asking)
{
	struct cache_call *call = call_find(thread);

	requested_reached(call, asking);
	if (!asking->missed)
		return;
	if (!call)
		call = call_take(page, thread);
	if (call)
		request_goes_on(call, asking->mapping, asking->index, asking->last);
}

/*
 * A read has reached page `index` of a range that ends with page `last`. The tracepoint is hit for every
 * batch of folios that needed no wait, so always for the last one of a read.
 * Reads of kernel threads make no HIT, as their end cannot be seen. A request of io_uring goes on where its thread is about to
 * return to user space, from a call or an interrupt: what it reaches then is told at the end of the thread's next call.
 */
SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(cache_get_pages, struct address_space *mapping, unsigned long index, unsigned long last)
{
	struct asking asking = { .task = current_task(), .index = index, .last = last };
	struct iotr_control *page = control_page();
	__u64 sessions, thread = thread_at(ctx);
	struct cache_call *call;

	if (!page || sampled_out(page, thread, true))
		return 0;
	sessions = filter_thread(page, asking.task, wanted_reads(page));
	if (!sessions || calls_nothing(FOLLOW(asking.task, flags)))
		return 0;
	asking.mapping = number_of((__u64)mapping);
	asking.regs = registers_of(asking.task);
	asking.number = call_number(asking.regs);
	if (requested_seen && !reads_itself(asking.number))
		request_reaches(page, thread, &asking);
	if (asking.number < 0 && !asking.missed)
		return 0;
	call = call_for(page, thread, &sessions);
	if (!call || !sessions)
		return 0;
	asking.inode = number_of((__u64)FOLLOW(mapping, host));
	ask(page, call, &asking, sessions);
	return 0;
}

/* `for_request`: it may be for the request of io_uring that is due. */
static __always_inline int due_set(const void *arguments, __u64 mapping, __u64 index, __u64 count, bool for_request)
{
	struct iotr_control *page = control_page();
	struct cache_call *call;

	if (!page || !filter_current(page, wanted_reads(page)))
		return 0;
	call = call_take(page, thread_at(arguments));
	if (!call || (for_request && due_already(call, mapping, index)))
		return 0;
	call->requested = for_request && adds_requested(call, mapping);
	if (call->requested && index + count != call->due_index + call->due_count) { /* another one */
		call->due_from = call->due_to = 0;
		call->apart = true;
	}
	call->due_mapping = mapping;
	call->due_index = index;
	call->due_count = count;
	return 0;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(cache_fault, void *mapping, unsigned long index)
{
	return left_out(ctx, false) ? 0 : due_set(ctx, argument_address(ctx, 0), index, 1, false);
}

SEC("tp_btf/page_cache_sync_ra")
int BPF_PROG(cache_sync_ra, void *inode, unsigned long index, void *state, unsigned long count)
{
	return left_out(ctx, false) ? 0 : due_set(ctx, ADDRESS(struct inode, inode, i_mapping), index, count, true);
}

SEC("tp_btf/page_cache_async_ra")
int BPF_PROG(cache_async_ra, void *inode, unsigned long index, void *state, unsigned long count)
{
	return left_out(ctx, false) ? 0 : due_set(ctx, ADDRESS(struct inode, inode, i_mapping), index, 0, true);
}

/* A request of io_uring gets its file, right before it is tried; not where that is in the ring's own table. */
SEC("tp_btf/io_uring_file_get")
int BPF_PROG(cache_request, struct io_kiocb *kernel)
{
	struct iotr_control *page = control_page();
	struct cache_call *call;

	if (!tells_reads() || !page || left_out(ctx, false) || !filter_current(page, wanted_reads(page)))
		return 0;
	call = call_take(page, thread_at(ctx));
	if (call)
		request_due(call, number_of((__u64)kernel));
	return 0;
}

/* Ends the call's draw, and notes that ends of calls of the thread are seen: see sampled_out(). */
static __always_inline void call_known(struct iotr_control *page, struct cache_call *call, const void *program, bool classic)
{
	call->draw = 0;
	call->known_ns = page->begun_last_ns;
	if (!classic)
		call->registers = number_of(CONTEXT_WORD(program, 0));
	else if (!call->registers)
		call->registers = number_of((__u64)user_registers());
}

/* Writes the rows of the thread's call, which has ended. If it failed, its range ends at the page that it reached. A global function. */
__noinline int finish_ended(__u64 thread, long result)
{
	struct cache_call *call = call_find(thread);

	if (!call)
		return 0;
	if (result < 0 && call->asked.count)
		call->asked.count = call->reached - call->asked.index + 1;
	finish_call(call, RUNS);
	return 0;
}

/*
 * Ends the thread's call. `program`: the context of the program, from which is read again what is rarely used. Most calls have no
 * rows left to write: the program is small, and saves few registers.
 */
static __always_inline void call_over(struct call_context context, const void *program)
{
	struct cache_call *call = call_find(thread_of(context));
	struct iotr_control *page = control_page();

	if (!page || !call)
		return;
	call->due_mapping = 0;
	call->told_mapping = 0;
	if (page->sampled[IOTR_CACHE])
		call_known(page, call, program, context.classic);
	if (call->count || asks(call))
		finish_ended(call->thread, call_result(program, context.classic));
}

SEC("tp_btf/sys_exit")
int BPF_PROG(cache_exit, struct pt_regs *regs)
{
	call_over(OF_REGS(regs), ctx);
	return PLUG_EXIT(ctx, REGS_AFRESH(ctx));
}

SEC("tp/raw_syscalls/sys_exit")
int cache_exit_raw(struct raw_exit *ctx)
{
	call_over(OF_EXIT(ctx), ctx);
	return PLUG_EXIT(ctx, OF_EXIT(ctx));
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(cache_gone, struct task_struct *task)
{
	struct cache_call *call = call_find(thread_at(ctx));

	if (!call)
		return 0;
	finish(call->thread, RUNS);
	call->registers = 0;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
