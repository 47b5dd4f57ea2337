// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long operations take and how they fail, for triggers of sessions: see common/timing_counts.h. Loaded and attached only while
 * a session has a trigger on an operation. Nothing is transported: the daemon reads the counts once a second. The programs
 * are apart from those that make rows, so that a trigger sees operations of which no session records any.
 */
#include "blockdev.bpf.h"
#include "context.bpf.h"
#include "direct.bpf.h"
#include "signals.bpf.h"
#include "lock_commands.bpf.h"
#include "timing_counts.h"

#define TIMED_AT_REMOVEDIR 0x200
#define TIMED_UNCOUNTED	   (1 << 16) /* an "error" above all errnos: the call does not count */
#define TIMED_PARKED	   (1ULL << 63) /* in a key: the thread's call that waits for a signal handler, which makes calls itself */

ARRAY_OF(timing_table, struct iotr_timing_table, 1, 0);
ARRAY_PER_CPU(timing_counts, struct iotr_timing, IOTR_TIMING_WATCHES);

/* A call or a request in flight; by thread, or by the address of the request. */
struct timed {
	__u64 begin_ns;
	__u64 stack; /* user space's stack pointer, if the call was interrupted: see restarts.bpf.h; 0: it was not */
	__u32 watch;
	__u16 opens; /* the file is known at the end */
	__u16 parks; /* an interrupted call of the thread is parked */
};

/* LRU: what never ends, or whose end is not seen, has to make room at last. */
HASH_OF(timing_flight, LRU_HASH, __u64, struct timed, IOTR_TIMING_FLIGHT);

static __always_inline struct iotr_timing_table *table(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&timing_table, &zero);
}

/* log2 of a number that is not 0. */
static __always_inline __u32 log2_of(__u32 number)
{
	__u32 result = 0;

	if (number >> 16) {
		result += 16;
		number >>= 16;
	}
	if (number >> 8) {
		result += 8;
		number >>= 8;
	}
	if (number >> 4) {
		result += 4;
		number >>= 4;
	}
	if (number >> 2) {
		result += 2;
		number >>= 2;
	}
	return result + (number >> 1);
}

/* Counts one operation that has ended. `error` is a positive errno, or 0. A global function. */
__noinline int timing_count(__u32 watch, __u64 begin_ns, __u32 error)
{
	struct iotr_timing *counts = bpf_map_lookup_elem(&timing_counts, &watch);
	__u64 latency = bpf_ktime_get_ns() - begin_ns, units = latency / IOTR_TIMING_UNIT_NS;
	__u32 bucket = units, exponent;

	if (!counts)
		return 0;
	if (units >> 32)
		bucket = IOTR_TIMING_BUCKETS - 1;
	else if (units >= 8) {
		exponent = log2_of(units);
		bucket = (exponent - 2) * 8 + ((__u32)units >> (exponent - 3) & 7);
	}
	__sync_fetch_and_add(&counts->ended, 1);
	__sync_fetch_and_add(&counts->latency_ns, latency);
	asm volatile("" : "+r"(bucket)); /* the bound is checked where the index is used, which older verifiers need */
	if (bucket < IOTR_TIMING_BUCKETS)
		__sync_fetch_and_add(&counts->latency[bucket], 1);
	if (!error)
		return 0;
	__sync_fetch_and_add(&counts->failed, 1);
	if (error >= IOTR_TIMING_ERRNOS)
		error = 0;
	asm volatile("" : "+r"(error));
	if (error < IOTR_TIMING_ERRNOS)
		__sync_fetch_and_add(&counts->errnos[error], 1);
	return 0;
}

/* ---- system calls ---- */

/* Whether an open file is one whose calls are rows of vfs without --pseudo-fs, but for pipes and sockets. A global function. */
__noinline int file_timed(__u64 file)
{
	__u64 inode = file ? ADDRESS(struct file, file, f_inode) : 0;
	__u32 kind;

	if (!inode)
		return false;
	kind = READ(struct inode, inode, i_mode) & S_IFMT;
	return kind != S_IFIFO && !pseudo_inode(kind, ADDRESS(struct inode, inode, i_sb));
}

static __always_inline __u64 native_argument(const struct pt_regs *regs, __u32 position)
{
	switch (position) {
	case 1:
		return READ(struct pt_regs, regs, di);
	case 2:
		return READ(struct pt_regs, regs, si);
	case 3:
		return READ(struct pt_regs, regs, dx);
	case 4:
		return READ(struct pt_regs, regs, r10);
	default:
		return READ(struct pt_regs, regs, r8);
	}
}

static __always_inline __u64 compat_argument(const struct pt_regs *regs, __u32 position)
{
	switch (position) {
	case 1:
		return READ(struct pt_regs, regs, bx);
	case 2:
		return READ(struct pt_regs, regs, cx);
	case 3:
		return READ(struct pt_regs, regs, dx);
	case 4:
		return READ(struct pt_regs, regs, si);
	default:
		return READ(struct pt_regs, regs, di);
	}
}

/*
 * A call begins while the thread has one in flight. If that was interrupted and is not this one once more, a handler makes this
 * one, and it is parked; otherwise its end was not seen. A global function.
 */
__noinline int timed_follows(__u64 thread, __u64 begin_ns, __u32 watch, __u32 opens)
{
	struct timed *before = bpf_map_lookup_elem(&timing_flight, &thread);
	struct timed timed = { .begin_ns = begin_ns, .watch = watch, .opens = opens };
	__u64 parked = thread | TIMED_PARKED;

	if (before && before->stack == REGISTER(user_registers(), sp))
		return 0;
	if (before && before->stack) {
		struct timed copy = *before;

		bpf_map_update_elem(&timing_flight, &parked, &copy, BPF_ANY);
		timed.parks = true;
	}
	bpf_map_update_elem(&timing_flight, &thread, &timed, BPF_ANY);
	return 0;
}

/* A call that may be watched begins. `packed` is its struct iotr_timed_call. A global function. */
__noinline int timed_begins(__u64 thread, __u64 registers, __u32 packed, __u32 compat)
{
	const struct pt_regs *regs = (void *)registers;
	struct task_struct *task = current_task();
	struct iotr_control *page = control_page();
	__u32 watch = packed & 0xff, other = packed >> 8 & 0xff, fd = packed >> 16 & 0xff, kind = packed >> 24;
	struct timed timed = { .opens = kind == IOTR_TIMED_OPENS };
	__u64 file;

	if (!page || is_own(page, task_tgid(task)))
		return 0;
	if (fd) {
		file = file_of_fd(task, compat ? compat_argument(regs, fd) : native_argument(regs, fd));
		if (!file_timed(file))
			return 0;
		if (kind == IOTR_TIMED_DIRECT && READ(struct file, file, f_flags) & O_DIRECT)
			watch = other;
	}
	if (kind == IOTR_TIMED_REMOVES && READ(struct pt_regs, regs, dx) & TIMED_AT_REMOVEDIR)
		watch = other;
	if (kind == IOTR_TIMED_LOCKS && !lock_command(compat ? compat_argument(regs, 2) : native_argument(regs, 2), compat))
		return 0;
	if (!watch)
		return 0;
	timed.watch = watch - 1;
	timed.begin_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&timing_flight, &thread, &timed, BPF_NOEXIST))
		timed_follows(thread, timed.begin_ns, timed.watch, timed.opens);
	return 0;
}

/* Forgets the thread's call; one that is parked takes its place. A global function. */
__noinline int timed_gone(__u64 thread, __u32 parks)
{
	__u64 parked = thread | TIMED_PARKED;
	struct timed *before = parks ? bpf_map_lookup_elem(&timing_flight, &parked) : NULL;

	if (before) {
		struct timed copy = *before;

		bpf_map_update_elem(&timing_flight, &thread, &copy, BPF_ANY);
		thread = parked;
	}
	bpf_map_delete_elem(&timing_flight, &thread);
	return 0;
}

/* A call ends of which the beginning may be known. A global function. */
__noinline int timed_ends(__u64 thread, __s64 result)
{
	struct timed *timed = bpf_map_lookup_elem(&timing_flight, &thread);

	if (!timed)
		return 0;
	if (restarts(result)) {
		timed->stack = REGISTER(user_registers(), sp);
		return 0;
	}
	if (timed->stack && timed->stack != REGISTER(user_registers(), sp))
		return 0; /* it is a handler's */
	if (timed->opens && result >= 0 && !file_timed(file_of_fd(current_task(), result)))
		result = -TIMED_UNCOUNTED;
	if (result != -TIMED_UNCOUNTED)
		timing_count(timed->watch, timed->begin_ns, result < 0 && result > -4096 ? -result : 0);
	return timed_gone(thread, timed->parks);
}

/* How the call of the ABI is counted, as a number; 0: nobody wants it. */
static __always_inline __u32 timed_call(__u64 number, bool compat)
{
	struct iotr_timing_table *all = table();
	const __u32 *rows;

	if (!all || number >= IOTR_CALLS)
		return 0;
	rows = (const __u32 *)all->calls[IOTR_ABI_NATIVE];
	return compat ? rows[IOTR_CALLS + call_index(number)] : rows[call_index(number)];
}

/* Whether either ABI has a watched call of that number, which is known without reading the task. */
static __always_inline bool timed_number(__u64 number)
{
	return timed_call(number, false) || timed_call(number, true);
}

static __always_inline int call_begins(struct pt_regs *regs, __u64 number, __u64 thread)
{
	bool compat;
	__u32 packed;

	if (!timed_number(number))
		return 0;
	compat = abi_of(current_task()) == IOTR_ABI_COMPAT;
	packed = timed_call(number, compat);
	return packed ? timed_begins(thread, number_of((__u64)regs), packed, compat) : 0;
}

static __always_inline int call_ended(__u64 number, __u64 thread, long result)
{
	return timed_number(number) ? timed_ends(thread, result) : 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(timing_enter, struct pt_regs *regs, long number)
{
	return call_begins(regs, regs->orig_ax, thread_of(OF_REGS(regs)));
}

SEC("tp_btf/sys_exit")
int BPF_PROG(timing_exit, struct pt_regs *regs, long result)
{
	return call_ended(regs->orig_ax, thread_of(OF_REGS(regs)), result);
}

/* On kernels that preempt programs: see syscalls.bpf.c. */
SEC("tp/raw_syscalls/sys_enter")
int timing_enter_raw(struct raw_enter *ctx)
{
	return call_begins(user_registers(), OF_ENTER(ctx).number, thread_here());
}

SEC("tp/raw_syscalls/sys_exit")
int timing_exit_raw(struct raw_exit *ctx)
{
	return call_ended(OF_EXIT(ctx).number, thread_here(), RESULT_OF(ctx));
}

/* A call that was interrupted has ended for good. That its thread died in it is no error of the call. */
SEC("tp_btf/signal_deliver")
int BPF_PROG(timing_signal, int signal, void *info, struct k_sigaction *action)
{
	long result = signal_result(signal, action);

	if (!result)
		return 0;
	return call_ended(REGISTER(user_registers(), orig_ax), thread_here(), result == -IOTR_DIED ? -TIMED_UNCOUNTED : result);
}

/* ---- requests ---- */

static __always_inline __u32 request_watch(struct request *request)
{
	struct iotr_timing_table *all = table();

	return all ? all->block[READ(struct request, request, cmd_flags) & REQUEST_OPERATION] : 0;
}

static __always_inline int request_issued(struct request *request)
{
	__u32 watch = request_watch(request);
	struct timed timed = { .watch = watch - 1 };
	__u64 key = (__u64)request;

	if (!watch)
		return 0;
	timed.begin_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&timing_flight, &key, &timed, BPF_ANY);
	return 0;
}

QUEUE_HOOK(timing_issue, block_rq_issue, struct request *request, request_issued(request))

/* A request may end in parts, of which the last one counts. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(timing_complete, struct request *request, int error, unsigned int bytes)
{
	__u64 key = (__u64)request;
	struct timed *timed;

	if (!request_watch(request) || (!error && bytes && bytes < READ(struct request, request, __data_len)))
		return 0;
	timed = bpf_map_lookup_elem(&timing_flight, &key);
	if (!timed)
		return 0;
	timing_count(timed->watch, timed->begin_ns, error < 0 ? -error : status_errno(error));
	bpf_map_delete_elem(&timing_flight, &key);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
