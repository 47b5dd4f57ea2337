/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A system call as its hooks show it. */
#pragma once

#include <stddef.h>

#include "iotracer.bpf.h"

#define TS_COMPAT 0x2

/* What a program on the classic tracepoint is given. */
struct raw_enter {
	__u64 common;
	long number;
	__u64 args[6];
};

struct raw_exit {
	__u64 common;
	long number;
	long result;
};

/* Either the registers or what a classic tracepoint has; which is known when a program is compiled. */
struct call_context {
	bool classic;
	struct pt_regs *regs;
	const struct raw_enter *enter;
	__u64 number;
};

/* A number below IOTR_CALLS as an index. The oldest verifier wants it masked right before its use. */
static __always_inline __u64 call_index(__u64 number)
{
	asm volatile("%0 &= %1" : "+r"(number) : "i"(IOTR_CALLS - 1));
	return number;
}

/* The verifier wants such loads at a constant offset from where the context begins. */
#define CONTEXT_WORD(context, offset)                                                           \
	({                                                                                      \
		__u64 word_;                                                                    \
		asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(word_) : "r"(context), "i"(offset)); \
		word_;                                                                          \
	})

#define OF_REGS(regs_)	 ((struct call_context){ .regs = regs_, .number = (regs_)->orig_ax })
#define OF_ENTER(enter_)                                                                        \
	((struct call_context){ .classic = true,                                                \
				.enter = enter_,                                                \
				.number = CONTEXT_WORD(enter_, offsetof(struct raw_enter, number)) })
#define OF_EXIT(exit_)                                                                          \
	((struct call_context){ .classic = true,                                                \
				.number = CONTEXT_WORD(exit_, offsetof(struct raw_exit, number)) })
#define RESULT_OF(exit_) ((long)CONTEXT_WORD(exit_, offsetof(struct raw_exit, result)))

/* ---- what threads have under way ---- */

/* Of the size of a thread's stack in the kernel, and of what it is aligned to: twice as much for KASAN. */
#define STACK_SHIFT (14 + !!bpf_core_field_exists(((struct task_struct *)0)->kasan_depth))

/* Threads are told apart by the numbers of their stacks. */
static __always_inline __u64 thread_here(void)
{
	return ADDRESS(struct task_struct, current_task(), stack) >> STACK_SHIFT;
}

/*
 * The registers of a call lie in its thread's stack: the end of one that nobody wants sees that
 * without having to ask who runs.
 */
static __always_inline __u64 thread_of(struct call_context context)
{
	return context.classic ? thread_here() : number_of((__u64)context.regs) >> STACK_SHIFT;
}

/* As do the arguments of a program on a hook that threads come to, none that interrupts do. */
static __always_inline __u64 thread_at(const void *arguments)
{
	return number_of((__u64)arguments) >> STACK_SHIFT;
}

/*
 * Arrays of places for threads, two-way associative: `count`, a power of two, in all. What a place
 * holds begins with the thread's number, and, where place_take() is to know what is in use, goes on
 * as this.
 */
struct place_head {
	__u64 thread;
	__u64 start_ns;
	__u64 sessions; /* 0: free */
};

static __always_inline void *place_at(void *map, __u32 count, __u64 thread, __u32 way)
{
	__u32 index = ((__u32)iotr_mix(0, thread) ^ way) & (count - 1);

	return bpf_map_lookup_elem(map, &index);
}

/* The thread's own, or NULL. */
static __always_inline void *place_find(void *map, __u32 count, __u64 thread)
{
	__u64 *place = place_at(map, count, thread, 0);

	if (place && *place == thread)
		return place;
	place = place_at(map, count, thread, 1);
	return place && *place == thread ? place : NULL;
}

/*
 * One for a thread that has none. When both that it could have are in use it is another thread's, and
 * whoever takes it counts that one's event as lost: see row_unended().
 */
static __always_inline void *place_take(struct iotr_control *page, void *map, __u32 count, __u64 thread)
{
	struct place_head *place = place_at(map, count, thread, 0);

	if (!place || !filter_begun(page, place->sessions, place->start_ns))
		return place;
	return place_at(map, count, thread, 1);
}

static __always_inline __u32 abi_of(struct task_struct *task)
{
	return READ(struct task_struct, task, thread_info.status) & TS_COMPAT ? IOTR_ABI_COMPAT :
										IOTR_ABI_NATIVE;
}

static __always_inline void arguments(__u64 *args, struct call_context context, __u32 abi)
{
	struct pt_regs *regs = context.regs;

	if (context.classic) {
		args[0] = CONTEXT_WORD(context.enter, offsetof(struct raw_enter, args[0]));
		args[1] = CONTEXT_WORD(context.enter, offsetof(struct raw_enter, args[1]));
		args[2] = CONTEXT_WORD(context.enter, offsetof(struct raw_enter, args[2]));
		args[3] = CONTEXT_WORD(context.enter, offsetof(struct raw_enter, args[3]));
		args[4] = CONTEXT_WORD(context.enter, offsetof(struct raw_enter, args[4]));
		args[5] = CONTEXT_WORD(context.enter, offsetof(struct raw_enter, args[5]));
	} else if (abi == IOTR_ABI_COMPAT) {
		args[0] = (__u32)regs->bx;
		args[1] = (__u32)regs->cx;
		args[2] = (__u32)regs->dx;
		args[3] = (__u32)regs->si;
		args[4] = (__u32)regs->di;
		args[5] = (__u32)regs->bp;
	} else {
		args[0] = regs->di;
		args[1] = regs->si;
		args[2] = regs->dx;
		args[3] = regs->r10;
		args[4] = regs->r8;
		args[5] = regs->r9;
	}
}

#define ERESTART_FIRST 512 /* the kernel's own codes for "interrupted, may begin again" */
#define ERESTART_LAST  516
#define EINTR	       4

/* What a program sees that is not made to begin the call again. */
static __always_inline long result_seen(long result)
{
	return result <= -ERESTART_FIRST && result >= -ERESTART_LAST ? -EINTR : result;
}
