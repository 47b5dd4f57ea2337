/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A system call as programs on its hooks see it: number, arguments, result, and the thread that makes it. */
#pragma once

#include <stddef.h>

#include "iotracer.bpf.h"

#define TS_COMPAT 0x2

/* The contexts of programs on the classic tracepoints raw_syscalls/sys_enter and sys_exit. */
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

/* A call's registers or, if `classic`, the context of a classic tracepoint; which, is a constant in each program. */
struct call_context {
	bool classic;
	bool copied; /* of a program that is copied for each call, which has the call's number in it */
	struct pt_regs *regs;
	const struct raw_enter *enter;
	__u64 number;
};

/* Masks a number below IOTR_CALLS for use as an index: the oldest verifier requires that right before the use. */
static __always_inline __u64 call_index(__u64 number)
{
	asm volatile("%0 &= %1" : "+r"(number) : "i"(IOTR_CALLS - 1));
	return number;
}

/* Loads a word of the context: the verifier requires a constant offset from its beginning. */
#define CONTEXT_WORD(context, offset)                                                           \
	({                                                                                      \
		__u64 word_;                                                                    \
		asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(word_) : "r"(context), "i"(offset)); \
		word_;                                                                          \
	})

/*
 * The number of the call that a program is a copy for: the daemon puts it into each copy (daemon/probes/clone.h). To read it
 * from the registers would cost ten instructions at either end of a call.
 */
static __always_inline __u64 number_copied(void)
{
	__u64 number;

	asm("%0 = %1" : "=r"(number) : "i"(IOTR_COPY_MARK));
	return number & (IOTR_CALLS - 1);
}

#define OF_REGS(regs_)	 ((struct call_context){ .regs = regs_, .number = (regs_)->orig_ax })
#define OF_COPY(regs_)	 ((struct call_context){ .copied = true, .regs = regs_, .number = number_copied() })
#define OF_ENTER(enter_)                                                                        \
	((struct call_context){ .classic = true,                                                \
				.enter = enter_,                                                \
				.number = CONTEXT_WORD(enter_, offsetof(struct raw_enter, number)) })
#define OF_EXIT(exit_)                                                                          \
	((struct call_context){ .classic = true,                                                \
				.number = CONTEXT_WORD(exit_, offsetof(struct raw_exit, number)) })
#define RESULT_OF(exit_) ((long)CONTEXT_WORD(exit_, offsetof(struct raw_exit, result)))

/* The result of a call, read where it is used, from the context of a program on its end: mostly none is. */
static __always_inline long call_result(const void *program, bool classic)
{
	return classic ? RESULT_OF(program) : (long)CONTEXT_WORD(program, sizeof(__u64)); /* the second argument */
}

/* The number of a call, read where it is used, for programs that mostly do not use it. */
static __always_inline __u64 number_again(struct call_context context)
{
	struct pt_regs *regs = context.regs;

	if (context.classic)
		return context.number;
	if (context.copied)
		return number_copied();
	asm volatile("" : "+r"(regs));
	return regs->orig_ax;
}

/* ---- what threads have in flight ---- */

/* log2 of the size and the alignment of a thread's kernel stack, which is twice as large with KASAN. */
#define STACK_IS_LARGE bpf_core_field_exists(((struct task_struct *)0)->kasan_depth)
#define STACK_SHIFT    (14 + STACK_IS_LARGE)

/*
 * Identifies the current thread by an address on its kernel stack, in units of the stack's size. Two shifts, of which the
 * verifier takes one out, cost less than one by a number that it has to be told.
 */
static __always_inline __u64 thread_on(const void *stack)
{
	__u64 thread = number_of((__u64)stack);

	if (STACK_IS_LARGE)
		asm volatile("%0 >>= 15" : "+r"(thread));
	else
		asm volatile("%0 >>= 14" : "+r"(thread));
	return thread;
}

static __always_inline __u64 thread_here(void)
{
	return thread_on(FOLLOW(current_task(), stack));
}

/*
 * The thread of a call. The call's registers lie on the thread's kernel stack, so the program at the end
 * of a call that no session records finds that out without reading the task.
 */
static __always_inline __u64 thread_of(struct call_context context)
{
	return context.classic ? thread_here() : thread_on(context.regs);
}

/* The same from a program's arguments, which lie on that stack too; only for hooks that run in a thread's context. */
static __always_inline __u64 thread_at(const void *arguments)
{
	return thread_on(arguments);
}

/*
 * Tables with an entry for each thread, two-way associative, of `count` entries, a power of two. The low bits of a thread's
 * number are its index, as stacks lie side by side. An entry begins with the thread's number or, where thread_entry_take()
 * is used, which must know what is in use, with this struct.
 */
struct thread_head {
	__u64 thread;
	__u64 start_ns;
	__u64 sessions; /* 0: free */
};

/* An array map or, where `map` is NULL, an array in memory, to which the way is shorter. */
struct thread_table {
	void *map;
	void *entries;
	__u32 size; /* bytes of an entry of `entries` */
	__u32 count;
};

#define THREAD_MAP(map_, count_) ((struct thread_table){ .map = &(map_), .count = count_ })
#define THREAD_ARRAY(array)                                                                     \
	((struct thread_table){ .entries = array, .size = sizeof((array)[0]), .count = sizeof(array) / sizeof((array)[0]) })

static __always_inline void *thread_entry_at(struct thread_table table, __u64 thread, __u32 way)
{
	__u32 index = ((__u32)thread ^ way) & (table.count - 1);
	void *entry;

	if (table.map)
		return bpf_map_lookup_elem(table.map, &index);
	entry = table.entries + index * table.size;
	__builtin_assume(entry != NULL);
	return entry;
}

/* The thread's entry, or NULL. If its first one was never taken, it has none, as that one is taken before the second. */
static __always_inline void *thread_entry(struct thread_table table, __u64 thread)
{
	__u64 *entry = thread_entry_at(table, thread, 0), other = thread;

	if (!entry)
		return NULL;
	if (*entry == thread)
		return entry;
	if (!*entry)
		return NULL;
	asm volatile("" : "+r"(other)); /* so that nothing of this is computed before */
	entry = thread_entry_at(table, other, 1);
	return entry && *entry == thread ? entry : NULL;
}

/*
 * An entry for a thread that has none: of the two possible ones the free one, otherwise the one that was taken
 * earlier, so that two threads do not keep taking theirs from each other. If both are in use the entry is another
 * thread's, and the caller counts that thread's event as lost: see row_unended().
 */
static __always_inline void *thread_entry_take(struct iotr_control *page, struct thread_table table, __u64 thread)
{
	struct thread_head *first = thread_entry_at(table, thread, 0), *second = thread_entry_at(table, thread, 1);
	bool used, other;

	if (!first || !second)
		return first;
	used = filter_begun(page, first->sessions, first->start_ns);
	other = filter_begun(page, second->sessions, second->start_ns);
	if (used != other)
		return used ? second : first;
	return first->start_ns <= second->start_ns ? first : second;
}

static __always_inline __u32 abi_of(struct task_struct *task)
{
	return FOLLOW(task, thread_info.status) & TS_COMPAT ? IOTR_ABI_COMPAT : IOTR_ABI_NATIVE;
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

/* One of them, of a call of the native ABI, by its position, counted from 1: a constant, and neither 2 nor more than 4. */
static __always_inline __u64 argument_native(struct call_context context, __u32 position)
{
	if (context.classic)
		return position == 1 ? CONTEXT_WORD(context.enter, offsetof(struct raw_enter, args[0])) :
		       position == 3 ? CONTEXT_WORD(context.enter, offsetof(struct raw_enter, args[2])) :
				       CONTEXT_WORD(context.enter, offsetof(struct raw_enter, args[3]));
	return position == 1 ? context.regs->di : position == 3 ? context.regs->dx : context.regs->r10;
}

/* The same of either ABI: 1 or 3. */
static __always_inline __u64 argument_of(struct call_context context, __u32 abi, __u32 position)
{
	if (context.classic || abi == IOTR_ABI_NATIVE)
		return argument_native(context, position);
	return position == 1 ? (__u32)context.regs->bx : (__u32)context.regs->dx;
}

#define ERESTART_FIRST 512 /* the kernel's internal codes -ERESTART*: interrupted, and may be restarted */
#define ERESTART_LAST  516
#define EINTR	       4

/* Whether a result is one of the kernel's internal codes, which no program sees: see restarts.bpf.h. */
static __always_inline bool restarts(long result)
{
	if (result >= 0)
		return false;
	asm volatile("" : "+r"(result)); /* so that this is not joined to one test, which costs more where it is none */
	return result <= -ERESTART_FIRST && result >= -ERESTART_LAST;
}
