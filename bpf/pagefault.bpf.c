// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Page faults of mapped files. A fault begins where the processor reports it, and ends where the
 * kernel counts it as major or minor, which triggers a software perf event. A fault that ends in a
 * signal is not counted by the kernel, and makes no row. While all sessions sample, the perf events may
 * have a period, so that only one fault in so many is reported; the draw then takes so many times more.
 *
 * The file is that of the VMA which the address lies in. Faults on a process's private copies of a
 * file's pages count as well.
 */
#include "mappings.bpf.h"
#include "pagecache.bpf.h"

#define FAULT_WRITE   2 /* bit of the processor's error code */
#define FAULTS	      4096 /* entries for faults in flight */
#define FIND_TRIES    16
#define EBUSY	      16

/* A thread's fault in flight. */
struct fault {
	__u64 thread; /* this and the next two: struct thread_head */
	__u64 start_ns;
	__u64 sessions; /* 0: none in flight */
	__u64 address;
	__u64 inode; /* address of the inode from mm_filemap_fault, 0: none */
	__u64 index;
	__u64 write;
};

/* The file that is mapped at an address. */
struct behind {
	__u64 address;
	__u64 file; /* 0: none */
	__u64 index;
};

/* struct bpf_perf_event_data; the UAPI header's is based on a struct pt_regs that differs from ours in kernel.h. */
struct counted_event {
	__u64 registers[21];
	__u64 sample_period;
	__u64 addr;
};

ARRAY_OF(page_faults, struct fault, FAULTS, 0);

static __always_inline __u64 wanted(struct iotr_control *page)
{
	return page->operation[IOTR_PAGEFAULT][IOTR_PAGEFAULT_FAULT];
}

static __always_inline struct fault *fault_find(const void *arguments)
{
	return thread_entry(THREAD_MAP(page_faults, FAULTS), thread_at(arguments));
}

/*
 * Counts a fault as lost that begins on a CPU without perf events, where its end is not seen: the CPU has come a moment ago, and
 * the daemon is about to attach them.
 */
static __always_inline bool fault_unseen(struct iotr_control *page, __u64 address, __u64 sessions)
{
	__u64 file;

	if (page->fault_cpus[bpf_get_smp_processor_id() & (IOTR_FAULT_CPUS - 1)])
		return false;
	file = file_mapped(address);
	if (file)
		row_unmatched(IOTR_PAGEFAULT, filter_file(page, sessions, file));
	return true;
}

static __always_inline int fault_begins(const void *arguments, __u64 address, __u64 error)
{
	struct fault *fault = fault_find(arguments);
	struct iotr_control *page = control_page();
	__u64 sessions;

	if (fault)
		fault->sessions = 0; /* the thread's last fault ended in a signal */
	if (!page || address >> 63)
		return 0;
	sessions = filter_current(page, sample(page, IOTR_PAGEFAULT, wanted(page)));
	if (!sessions || fault_unseen(page, address, sessions))
		return 0;
	if (!fault)
		fault = thread_entry_take(page, THREAD_MAP(page_faults, FAULTS), thread_at(arguments));
	if (!fault)
		return 0;
	if (fault->sessions) /* another thread's; for sessions that sample it may have ended unreported */
		row_unended(page, IOTR_PAGEFAULT, fault->sessions & ~page->sampled[IOTR_PAGEFAULT],
			    fault->start_ns);
	fault->thread = thread_at(arguments);
	fault->address = address;
	fault->write = error & FAULT_WRITE;
	fault->inode = 0;
	fault->start_ns = bpf_ktime_get_ns();
	fault->sessions = sessions;
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(fault_user, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return fault_begins(ctx, address, error);
}

/* A fault of the kernel on a user's page. */
SEC("tp_btf/page_fault_kernel")
int BPF_PROG(fault_kernel, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return fault_begins(ctx, address, error);
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(fault_file, void *mapping, unsigned long index)
{
	struct fault *fault = fault_find(ctx);

	if (!fault || !fault->sessions)
		return 0;
	fault->inode = ADDRESS(struct address_space, argument_address(ctx, 0), host);
	fault->index = index;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(fault_gone, struct task_struct *task)
{
	struct fault *fault = fault_find(ctx);

	if (fault)
		fault->sessions = 0;
	return 0;
}

/* ---- the end ---- */

/* Fills in what the row says of the file; false: it is not a user's file. */
static __always_inline bool fill_behind(const struct behind *behind, __u64 cached, struct iotr_file *file,
					bool *pseudo)
{
	struct cached from;
	struct place place;
	__u64 inode;

	if (!behind->file) {
		if (!cached_fill(cached, &from))
			return false;
		*file = from.file;
		file->name = name_of_inode(cached);
		return true;
	}
	inode = ADDRESS(struct file, behind->file, f_inode);
	if (READ(struct inode, inode, i_flags) & S_PRIVATE)
		return false;
	place = place_of_backing(behind->file);
	inode = place.dentry ? ADDRESS(struct dentry, place.dentry, d_inode) : 0;
	if (!inode)
		return false;
	*pseudo = inode_fill(inode, file);
	file->flags = 0;
	file->name = name_of_place(place);
	return true;
}

static __always_inline __u64 filter_behind(struct iotr_control *page, __u64 sessions,
					   const struct behind *behind, __u64 cached)
{
	if (!behind->file || !(sessions & page->filtered[IOTR_FILTER_PATH]))
		return filter_inode(page, sessions, cached);
	return filter_place(page, sessions, place_of_backing(behind->file));
}

static __always_inline int fault_ends(struct fault *fault, const struct behind *behind, bool major)
{
	struct iotr_control *page = control_page();
	struct task_struct *task = current_task();
	__u64 now = bpf_ktime_get_ns(), sessions = fault->sessions;
	struct iotr_pagefault_record *row;
	struct iotr_file file = {};
	bool pseudo = false;

	if (!page)
		return 0;
	sessions = filter_begun(page, sessions & wanted(page), fault->start_ns);
	sessions = filter_behind(page, sessions, behind, fault->inode);
	if (!sessions || !fill_behind(behind, fault->inode, &file, &pseudo))
		return 0;
	if (pseudo)
		sessions &= page->pseudo_fs;
	sessions = filter_device(page, sessions, file.device);
	sessions = filter_end(page, sessions, now - fault->start_ns, IOTR_UNKNOWN, false);
	if (!sessions)
		return 0;
	row = row_begin(IOTR_PAGEFAULT, IOTR_PAGEFAULT_FAULT, sizeof(*row), sessions);
	if (!row)
		return 0;
	head_fill(&row->head, sessions, fault->start_ns, now);
	head_fill_current(&row->head, task);
	row->file = file;
	row->address = fault->address;
	row->index = behind->index;
	row->write = fault->write != 0;
	row->major = major;
	__builtin_memset(row->pad, 0, sizeof(row->pad));
	row_commit(row);
	return 0;
}

/* The thread's entry of the fault that is counted now; NULL: no session accepts it. */
static __always_inline struct fault *fault_counted(struct counted_event *context)
{
	struct fault *fault = fault_find(context);

	if (!fault || !fault->sessions || (fault->address ^ context->addr) >> PAGE_SHIFT)
		return NULL;
	return fault;
}

static __always_inline void look_behind(__u64 vma, struct behind *behind)
{
	behind->file = ADDRESS(struct vm_area_struct, vma, vm_file);
	behind->index = READ(struct vm_area_struct, vma, vm_pgoff) +
			((behind->address - READ(struct vm_area_struct, vma, vm_start)) >> PAGE_SHIFT);
}

static long vma_found(struct task_struct *task, struct vm_area_struct *vma, struct behind *behind)
{
	look_behind((__u64)vma, behind);
	return 0;
}

/*
 * Finds the file mapped at the address. A fault may hold only its VMA's lock, so the tree may change during
 * the walk: if that finds nothing, bpf_find_vma() is tried. -EBUSY: that could not take the mmap lock; then
 * mm_filemap_fault may have seen the inode.
 */
static __always_inline long find_behind(struct behind *behind)
{
	__u64 mapping = mapping_of(behind->address);
	long found = -EBUSY;

	if (mapping) {
		look_behind(mapping, behind);
		return 0;
	}
	for (int i = 0; i < FIND_TRIES && found == -EBUSY; i++)
		found = bpf_find_vma(bpf_get_current_task_btf(), behind->address, vma_found, behind, 0);
	return found;
}

static __always_inline int counted(struct counted_event *context, bool major)
{
	struct fault *fault = fault_counted(context);
	struct behind behind = {};
	long found;

	if (!fault)
		return 0;
	behind.address = fault->address;
	found = find_behind(&behind);
	if (found == -EBUSY && fault->inode)
		behind.index = fault->index;
	else if (found == -EBUSY)
		row_unmatched(IOTR_PAGEFAULT, fault->sessions);
	if (behind.file || (found == -EBUSY && fault->inode))
		fault_ends(fault, &behind, major);
	fault->sessions = 0;
	return 0;
}

/* For kernels with the red-black tree of VMAs: the fault holds the mmap lock, so the walk is safe. */
static __always_inline int counted_walk(struct counted_event *context, bool major)
{
	struct fault *fault = fault_counted(context);
	struct behind behind = {};
	__u64 mapping;

	if (!fault)
		return 0;
	behind.address = fault->address;
	mapping = mapping_of_older(behind.address);
	if (mapping)
		look_behind(mapping, &behind);
	if (behind.file)
		fault_ends(fault, &behind, major);
	fault->sessions = 0;
	return 0;
}

/*
 * A CPU that goes takes its perf events along. Steps of coming are counted, so that the daemon sees that there is something to
 * attach; the last one it sees is behind the step from which on the CPU can have such events.
 */
SEC("tp_btf/cpuhp_enter")
int BPF_PROG(fault_cpu_goes, unsigned int cpu, int target, int step)
{
	struct iotr_control *page = control_page();

	if (page && target < step)
		page->fault_cpus[cpu & (IOTR_FAULT_CPUS - 1)] = 0;
	return 0;
}

SEC("tp_btf/cpuhp_exit")
int BPF_PROG(fault_cpu_comes)
{
	struct iotr_control *page = control_page();

	if (page)
		__sync_fetch_and_add(&page->cpu_changes, 1);
	return 0;
}

SEC("perf_event")
int fault_major__1(struct counted_event *context)
{
	return counted(context, true);
}

SEC("perf_event")
int fault_minor__1(struct counted_event *context)
{
	return counted(context, false);
}

SEC("perf_event")
int fault_major__0(struct counted_event *context)
{
	return counted_walk(context, true);
}

SEC("perf_event")
int fault_minor__0(struct counted_event *context)
{
	return counted_walk(context, false);
}

char LICENSE[] SEC("license") = "GPL";
