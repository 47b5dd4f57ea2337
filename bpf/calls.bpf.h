/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers of a system call. */
#pragma once

#include "iotracer.bpf.h"

#define TS_COMPAT 0x2

static __always_inline __u32 abi_of(struct task_struct *task)
{
	return READ(struct task_struct, task, thread_info.status) & TS_COMPAT ? IOTR_ABI_COMPAT :
										IOTR_ABI_NATIVE;
}

static __always_inline void arguments(__u64 *args, struct pt_regs *regs, __u32 abi)
{
	if (abi == IOTR_ABI_COMPAT) {
		args[0] = (__u32)regs->bx;
		args[1] = (__u32)regs->cx;
		args[2] = (__u32)regs->dx;
		args[3] = (__u32)regs->si;
		args[4] = (__u32)regs->di;
		args[5] = (__u32)regs->bp;
		return;
	}
	args[0] = regs->di;
	args[1] = regs->si;
	args[2] = regs->dx;
	args[3] = regs->r10;
	args[4] = regs->r8;
	args[5] = regs->r9;
}

