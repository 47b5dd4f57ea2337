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
#include "cache_runs.bpf.h"
#include "cache_writeback.bpf.h"
#include "plugged.bpf.h"

/*
 * The thread's call, and those of the sessions that want what it does; NULL, and counted, when it
 * has no place.
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

/* One folio. A function of its own, verified once. */
__noinline int note(__u64 thread, __u64 mapping, __u64 index, __u64 count, __u32 operation)
{
	struct iotr_control *page = control_page();
	__u32 flags = READ(struct task_struct, current_task(), flags);
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
	if (sessions)
		run_add(page, call, mapping, index, count, operation, sessions);
	if (call_ends(flags, operation))
		return 0;
	finish(thread, RUNS);
	call->draw = 0;
	return 0;
}

/* Whether a program on that hook has nothing to do for the thread. Files are closed after calls. */
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

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(cache_add, void *folio)
{
	return left_out(ctx, false) ? 0 : folio_seen(ctx, (__u64)folio, RUN_ADDED);
}

SEC("tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(cache_delete, void *folio)
{
	if (left_out(ctx, true))
		return 0;
	return folio_seen(ctx, (__u64)folio, removal(READ(struct task_struct, current_task(), flags)));
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

/* The open file of that mapping which a read system call is given, or 0. */
static __always_inline __u64 call_file(struct pt_regs *regs, __u64 mapping)
{
	__u64 file;

	if (abi_of(current_task()) == IOTR_ABI_COMPAT)
		return 0;
	file = file_of_fd(current_task(), READ(struct pt_regs, regs, di));
	return file && ADDRESS(struct file, file, f_inode) == ADDRESS(struct address_space, mapping, host) ?
		       file :
		       0;
}

/* The page that a read of the file begins with, or IOTR_UNKNOWN. */
static __always_inline __u64 call_begin(struct pt_regs *regs, __u64 file)
{
	__s64 position;

	if (!file)
		return IOTR_UNKNOWN;
	switch (call_number(regs)) {
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
static __always_inline __u64 asked_from(const struct cache_call *call, __u64 mapping, __u64 begin,
					__u64 index)
{
	if (begin == IOTR_UNKNOWN && call->due_mapping == mapping &&
	    call->due_index + call->due_count >= index)
		begin = call->due_index;
	return begin < index ? begin : index;
}

/* A range of its own. */
static __always_inline bool ask_anew(struct iotr_control *page, struct cache_call *call, __u64 mapping,
				     __u64 index, __u64 sessions)
{
	struct pt_regs *regs = user_registers();
	__u64 file = call_file(regs, mapping);

	return run_begin(page, &call->asked, mapping, file,
			 asked_from(call, mapping, call_begin(regs, file), index), 0, sessions);
}

static __always_inline void ask(struct iotr_control *page, struct cache_call *call, __u64 mapping,
				__u64 index, __u64 last, __u64 sessions)
{
	struct run *asked = &call->asked;
	__u64 end = asked->index + asked->count;

	if (!asked->count || asked->mapping != mapping || index < asked->index || index > end) {
		finish(call->thread, call->settled);
		if (!ask_anew(page, call, mapping, index, sessions))
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
	__u64 sessions, thread = thread_at(ctx);
	struct cache_call *call;

	if (!page || sampled_out(page, thread, true))
		return 0;
	sessions = filter_current(page, wanted_reads(page));
	if (!sessions || !call_ends(READ(struct task_struct, current_task(), flags), IOTR_CACHE_HIT))
		return 0;
	call = call_for(page, thread, &sessions);
	if (call && sessions)
		ask(page, call, untyped(call, mapping), index, last, sessions);
	return 0;
}

static __always_inline int due(const void *arguments, __u64 mapping, __u64 index, __u64 count)
{
	struct iotr_control *page = control_page();
	struct cache_call *call;

	if (!page || !filter_current(page, wanted_reads(page)))
		return 0;
	call = call_take(page, thread_at(arguments));
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
	return left_out(ctx, false) ? 0 : due(ctx, argument_address(ctx, 0), index, 1);
}

SEC("tp_btf/page_cache_sync_ra")
int BPF_PROG(cache_sync_ra, void *inode, unsigned long index, void *state, unsigned long count)
{
	return left_out(ctx, false) ? 0 : due(ctx, ADDRESS(struct inode, inode, i_mapping), index, count);
}

SEC("tp_btf/page_cache_async_ra")
int BPF_PROG(cache_async_ra, void *inode, unsigned long index, void *state, unsigned long count)
{
	return left_out(ctx, false) ? 0 : due(ctx, ADDRESS(struct inode, inode, i_mapping), index, 0);
}

/* A call that failed has come as far as it came. */
static __always_inline void call_over(struct call_context context, long result)
{
	struct cache_call *call = call_find(thread_of(context));
	struct iotr_control *page = control_page();

	if (!page || !call)
		return;
	call->due_mapping = 0;
	call->draw = 0;
	call->known_ns = page->begun_last_ns;
	if (!context.classic)
		call->registers = number_of((__u64)context.regs);
	else if (!call->registers)
		call->registers = number_of((__u64)user_registers());
	if (!call->count && !call->asked.count)
		return;
	if (result < 0 && call->asked.count)
		call->asked.count = call->reached - call->asked.index + 1;
	finish(call->thread, RUNS);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(cache_exit, struct pt_regs *regs, long result)
{
	call_over(OF_REGS(regs), result);
	return PLUG_EXIT(ctx, REGS_AFRESH(ctx));
}

SEC("tp/raw_syscalls/sys_exit")
int cache_exit_raw(struct raw_exit *ctx)
{
	call_over(OF_EXIT(ctx), RESULT_OF(ctx));
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
