/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On whose behalf pages come and go: the system call under way, if there is one, or reclaim. */
#pragma once

#include "actor.bpf.h"
#include "calls.bpf.h"
#include "files.bpf.h"

#define PF_EXITING   0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_IO_WORKER_510 0x20000000 /* PF_BLOCK_TS today */
#define PF_MEMALLOC  0x00000800
#define PF_KSWAPD    0x00020000

#define PROC_MAGIC	  0x9fa0
#define FADVISE_DONTNEED  4
#define MADV_PAGEOUT	  21
#define THREAD_SIZE	  (1UL << STACK_SHIFT)
#define PT_REGS_SIZE	  168

/* Registers that the thread came into the kernel with. */
static __always_inline struct pt_regs *user_registers(void)
{
	__u64 stack;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	stack = (__u64)READ(struct task_struct, current_task(), stack);
	return (struct pt_regs *)(stack + THREAD_SIZE - PT_REGS_SIZE);
}

/* Threads that make no system calls, or none any more. */
static __always_inline bool calls_nothing(__u32 flags)
{
	__u32 worker = bpf_core_type_exists(struct folio) ? PF_IO_WORKER : PF_IO_WORKER_510;

	return flags & (PF_KTHREAD | PF_EXITING | worker);
}

static __always_inline __s64 call_number(struct pt_regs *regs)
{
	return READ(struct pt_regs, regs, orig_ax);
}

/*
 * Whether the end of the call will be seen. Files are closed after it: what becomes of their
 * pages then is not of the call.
 */
static __always_inline bool call_ends(__u32 flags, __u32 operation)
{
	__s64 number;

	if (calls_nothing(flags))
		return false;
	number = call_number(user_registers());
	if (operation != IOTR_CACHE_INVALIDATE)
		return number >= 0;
	switch (number) {
	case 3:	  /* close */
	case 11:  /* munmap */
	case 33:  /* dup2 */
	case 292: /* dup3 */
	case 436: /* close_range */
		return false;
	default:
		return number >= 0;
	}
}

static __always_inline bool is_drop_caches(__u32 fd)
{
	static const char name[] = "drop_caches";
	__u64 file = file_of_fd(current_task(), fd), words[2] = {};
	struct dentry *dentry;

	if (!file || READ(struct super_block, READ(struct inode, READ(struct file, file, f_inode), i_sb),
			  s_magic) != PROC_MAGIC)
		return false;
	dentry = READ(struct file, file, f_path.dentry);
	bpf_probe_read_kernel(words, sizeof(name), READ(struct dentry, dentry, d_name.name));
	return words[0] == 0x6361635f706f7264ULL && words[1] == 0x736568; /* name */
}

/* A file's pages are let go because somebody asked for just that. */
static __always_inline bool drops(void)
{
	struct pt_regs *regs = user_registers();
	__s64 number = call_number(regs);

	if (abi_of(current_task()) == IOTR_ABI_COMPAT)
		return (number == 250 && READ(struct pt_regs, regs, di) == FADVISE_DONTNEED) || /* fadvise64 */
		       (number == 272 && READ(struct pt_regs, regs, bp) == FADVISE_DONTNEED) || /* fadvise64_64 */
		       (number == 4 && is_drop_caches(READ(struct pt_regs, regs, bx)));
	switch (number) {
	case 221: /* fadvise64 */
		return READ(struct pt_regs, regs, r10) == FADVISE_DONTNEED;
	case 1:	 /* write */
	case 18: /* pwrite64 */
	case 20: /* writev */
		return is_drop_caches(READ(struct pt_regs, regs, di));
	default:
		return false;
	}
}

/* A process asks for reclaim of its own pages; older kernels do not mark it as reclaiming then. */
static __always_inline bool pages_out(void)
{
	struct pt_regs *regs = user_registers();
	bool compat = abi_of(current_task()) == IOTR_ABI_COMPAT;
	__s64 number = call_number(regs);

	if (number == (compat ? 219 : 28)) /* madvise */
		return READ(struct pt_regs, regs, dx) == MADV_PAGEOUT;
	if (number == 440) /* process_madvise */
		return (compat ? READ(struct pt_regs, regs, si) : READ(struct pt_regs, regs, r10)) == MADV_PAGEOUT;
	return false;
}

/* Why a page leaves the cache: for want of memory, or by what system call. */
static __always_inline __u32 removal(__u32 flags)
{
	if (flags & (PF_MEMALLOC | PF_KSWAPD) || (!calls_nothing(flags) && pages_out()))
		return IOTR_CACHE_EVICT;
	if (!calls_nothing(flags) && drops())
		return IOTR_CACHE_DROP;
	return IOTR_CACHE_INVALIDATE;
}
