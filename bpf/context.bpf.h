/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why pages enter and leave the page cache: for the system call in flight, or by reclaim. */
#pragma once

#include "actor.bpf.h"
#include "call_numbers.h"
#include "calls.bpf.h"
#include "files.bpf.h"
#include "registers.bpf.h"

#define PF_EXITING   0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_IO_WORKER_510 0x20000000 /* its value in 5.10; today it is PF_BLOCK_TS */
#define PF_MEMALLOC  0x00000800
#define PF_KSWAPD    0x00020000

#define FADVISE_DONTNEED  4
#define MADV_PAGEOUT	  21

/* Whether a thread with these flags makes no system calls, or no more. */
static __always_inline bool calls_nothing(__u32 flags)
{
	__u32 worker = HAS_FOLIO ? PF_IO_WORKER : PF_IO_WORKER_510;

	return flags & (PF_KTHREAD | PF_EXITING | worker);
}

static __always_inline __s64 call_number(struct pt_regs *regs)
{
	return REGISTER(regs, orig_ax);
}

/*
 * Whether the current thread is in a system call whose end will be seen after this operation. The last
 * reference to a file is dropped after the end of such calls as close, so their INVALIDATE does not count.
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
	case NR_close:
	case NR_munmap:
	case NR_dup2:
	case NR_dup3:
	case NR_close_range:
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

/* Whether the system call in flight drops pages on request: POSIX_FADV_DONTNEED, or a write to drop_caches. */
static __always_inline bool drops(void)
{
	struct pt_regs *regs = user_registers();
	__s64 number = call_number(regs);

	if (abi_of(current_task()) == IOTR_ABI_COMPAT)
		return (number == NR32_ia32_fadvise64 && REGISTER(regs, di) == FADVISE_DONTNEED) ||
		       (number == NR32_ia32_fadvise64_64 && REGISTER(regs, bp) == FADVISE_DONTNEED) ||
		       (number == NR32_write && is_drop_caches(REGISTER(regs, bx)));
	switch (number) {
	case NR_fadvise64:
		return REGISTER(regs, r10) == FADVISE_DONTNEED;
	case NR_write:
	case NR_pwrite64:
	case NR_writev:
		return is_drop_caches(REGISTER(regs, di));
	default:
		return false;
	}
}

/* Whether the system call in flight is MADV_PAGEOUT, during which older kernels do not set PF_MEMALLOC. */
static __always_inline bool pages_out(void)
{
	struct pt_regs *regs = user_registers();
	bool compat = abi_of(current_task()) == IOTR_ABI_COMPAT;
	__s64 number = call_number(regs);

	if (number == (compat ? NR32_madvise : NR_madvise))
		return REGISTER(regs, dx) == MADV_PAGEOUT;
	if (number == NR_process_madvise) /* the same number in both ABIs */
		return (compat ? REGISTER(regs, si) : REGISTER(regs, r10)) == MADV_PAGEOUT;
	return false;
}

/* The operation of a page that leaves the cache: EVICT by reclaim, DROP on request, otherwise INVALIDATE. */
static __always_inline __u32 removal(__u32 flags)
{
	if (flags & (PF_MEMALLOC | PF_KSWAPD) || (!calls_nothing(flags) && pages_out()))
		return IOTR_CACHE_EVICT;
	if (!calls_nothing(flags) && drops())
		return IOTR_CACHE_DROP;
	return IOTR_CACHE_INVALIDATE;
}
