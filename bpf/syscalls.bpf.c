// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The start and the end of system calls, for every stream that records them. call_begins() and
 * call_ends() run at both levels: on the machine-wide sys_enter and sys_exit, or on the entry and exit
 * of the function of one system call, which costs the other calls nothing. The control page says
 * what each argument of a call means.
 */
/* Of VFS, only completions of io_uring may run in an interrupt, on kernels where they do not name the request. */
#define COUNTS_ALONE (!preempted && HAS_REQUEST_CQE)

#include "aio.bpf.h"
#include "plugged.bpf.h"
#include "vfs_end.bpf.h"

#define PARTS_OTHER (PART_FILE | PART_RESULT | PART_AIO) /* of calls that are not plain */
#define SEVERAL (IOTR_CALL_SUBMITS | IOTR_CALL_REAPS) /* several operations in a call, each with a draw of its own */

/* Whether a program on sys_enter has seen the call begin. */
static __always_inline bool begun_at_enter(struct call_context context)
{
	__u64 thread = thread_of(context);
	const struct slot *slot = slot_find(thread);

	return slot && slot->sessions && slot->number == number_again(context) && slot->task == (__u64)current_task() &&
	       slot->torn != thread;
}

/* Whether it is for this program to see the call begin: see enum iotr_functions. */
static __always_inline bool sees_begin(const struct iotr_control *page, struct call_context context, __u32 parts)
{
	enum iotr_functions functions = *(const volatile __u32 *)&page->functions;

	if (parts & PART_STAND_IN)
		return functions == IOTR_FUNCTIONS_NONE;
	return functions == IOTR_FUNCTIONS_ALONE || (functions == IOTR_FUNCTIONS_BEGUN && !begun_at_enter(context));
}

/* The ABI of a call; the functions that programs are on are those of the native one. */
static __always_inline __u32 call_abi(struct task_struct *task, __u32 parts)
{
	return parts & PART_FUNCTION ? IOTR_ABI_NATIVE : abi_of(task);
}

/* Sessions that may record a call; of either ABI, which is not known yet, unless the program is on a function. */
static __always_inline __u64 call_sessions(const struct iotr_call *call, __u32 parts)
{
	return call[0].sessions | (parts & PART_FUNCTION ? 0 : call[IOTR_CALLS].sessions);
}

/* Whether a call of either ABI stands for several operations. */
static __always_inline bool call_several(const struct iotr_call *call, __u32 parts)
{
	return parts & PARTS_OTHER && (call[0].traits | call[IOTR_CALLS].traits) & SEVERAL;
}

/* Sessions that may record the call of which these were drawn, when its ABI is known. */
static __always_inline __u64 call_drawn(const struct iotr_call *call, __u64 drawn, __u32 parts)
{
	if (parts & PARTS_OTHER && call->traits & SEVERAL)
		return call->sessions;
	return parts & PART_FUNCTION ? drawn : drawn & call->sessions;
}

/* Whether a call takes the way of plain calls, which is the only one in a program that is on such calls alone. */
static __always_inline bool goes_plain(const struct iotr_call *call, __u32 abi, __u32 parts)
{
	if (!(parts & PARTS_OTHER))
		return true;
	return parts & PART_PLAIN && call->traits & IOTR_CALL_PLAIN && abi == IOTR_ABI_NATIVE;
}

/* Fills in a slot that was taken. Returns the sessions that accept the call. */
static __always_inline __u64 slot_fill(struct iotr_control *page, const struct iotr_call *call, struct slot *slot,
				       struct call_context context, struct task_struct *task, __u64 sessions, __u32 parts)
{
	slot->task = (__u64)task;
	if (goes_plain(call, slot->abi, parts)) {
		arguments_plain(slot, call, context);
		return parts & PART_RESULT ? vfs_begins_plain_apart(page, call, slot, task, sessions) :
					     vfs_begins_plain(page, call, slot, task, sessions);
	}
	arguments(slot->args, context, slot->abi);
	if (parts & PART_AIO && call->traits & SEVERAL)
		return sessions;
	return vfs_begins(page, call, slot, task, sessions, parts);
}

static __always_inline int call_begins(struct call_context context, __u32 parts)
{
	struct iotr_control *page = control_page();
	__u64 number = context.number, sessions, drawn, thread;
	struct task_struct *task;
	struct iotr_call *call;
	struct slot *slot;
	__u32 abi, tgid;

	if (!page || number >= IOTR_CALLS)
		return 0;
	if (parts & (PART_FUNCTION | PART_STAND_IN) && !sees_begin(page, context, parts))
		return 0;
	call = page->calls[IOTR_ABI_NATIVE] + (context.copied ? number : call_index(number));
	drawn = call_sessions(call, parts);
	if (!drawn)
		return 0;
	drawn = sample(page, IOTR_VFS, drawn);
	if (!drawn && !call_several(call, parts))
		return 0;
	task = current_process(&tgid);
	abi = call_abi(task, parts);
	if (abi == IOTR_ABI_COMPAT && parts & PART_STAND_IN)
		return 0; /* the programs that it stands in for do not see these calls */
	if (abi == IOTR_ABI_COMPAT)
		call += IOTR_CALLS;
	sessions = call_drawn(call, drawn, parts);
	if (sessions)
		sessions = filter_task(page, task, sessions, tgid);
	if (!sessions || is_own(page, tgid))
		return 0;
	thread = thread_of(context);
	slot = slot_take(page, thread, IOTR_VFS, sessions);
	if (!slot)
		return 0;
	slot->number = number;
	slot->abi = abi;
	slot_begun(slot, thread, IOTR_VFS, sessions, slot_fill(page, call, slot, context, task, sessions, parts));
	if (parts & PART_AIO && call->traits & SEVERAL)
		aio_begins(thread, call->traits & IOTR_CALL_SUBMITS);
	return 0;
}

/* Makes the rows of a call that ends. */
static __always_inline void slot_told(struct iotr_control *page, struct slot *slot, __u64 thread, __u64 sessions, long result,
				      __u64 end, __u32 parts)
{
	const struct iotr_call *call = parts & PARTS_OTHER ? call_of(page, slot) : NULL;
	const struct iotr_call plain = IOTR_PLAIN_CALL(~0, 0); /* which of them it is, is in the slot */

	if (goes_plain(call, slot->abi, parts)) {
		vfs_ends(page, &plain, slot, thread, sessions, result, end, PART_FILE | PART_PLAIN);
	} else if (parts & PART_AIO && call->traits & SEVERAL) {
		slot->sessions = sessions;
		if (sessions)
			aio_ends(call, slot, result);
	} else {
		vfs_ends(page, call, slot, thread, sessions, result, end, parts & ~PART_PLAIN);
	}
}

static __always_inline int slot_ended(struct slot *slot, __u64 thread, struct call_context context, long result, __u32 parts)
{
	__u64 end = bpf_ktime_get_ns(), sessions;
	struct iotr_control *page = control_page();

	if (!page || !slot_ends(slot, thread, number_again(context)))
		return 0;
	if (restarts(result))
		return slot_breaks(thread);
	sessions = filter_begun(page, slot->sessions, slot->start_ns);
	slot_told(page, slot, thread, sessions, result, end, parts);
	slot_done(slot, thread);
	return 0;
}

/* The same as a function: a program that calls it for some of its calls needs no registers of its own for the others. */
static __noinline int slot_ended_apart(struct slot *slot, __u64 thread, const void *program)
{
	return slot_ended(slot, thread, OF_COPY(NULL), call_result(program, false), PART_PLAIN);
}

/* `program`: the context of the program itself, which has the result. */
static __always_inline int call_ends(struct call_context context, const void *program, __u32 parts)
{
	__u64 thread = context.classic ? thread_here() : thread_at(program);
	struct slot *slot = slot_find(thread);

	if (!slot || !slot->sessions)
		return 0;
	if (context.copied)
		return slot_ended_apart(slot, thread, program);
	return slot_ended(slot, thread, context, call_result(program, context.classic), parts);
}

/* ---- the programs on all system calls; they go on to those of the other streams ---- */

#define PARTS_ALL (PARTS_OTHER | PART_PLAIN)

/*
 * At function level, for calls of VFS until all functions have their hooks, which takes the kernel seconds. That of the
 * end is attached first, and stays until nothing is in flight whose beginning the other one has seen.
 */
SEC("tp_btf/sys_exit")
int BPF_PROG(stand_in_exit, struct pt_regs *regs, long result)
{
	return call_ends(OF_REGS(regs), ctx, PARTS_ALL);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(stand_in_enter, struct pt_regs *regs, long number)
{
	return call_begins(OF_REGS(regs), PARTS_ALL | PART_STAND_IN);
}

/* At both levels, for calls that a signal has interrupted. */
SEC("tp_btf/signal_deliver")
int BPF_PROG(vfs_signal, int signal, void *info, struct k_sigaction *action)
{
	__u64 thread = thread_here();
	struct slot *slot = slot_find(thread);
	long result = slot_signalled(signal, action);

	return slot && result ? slot_ended(slot, thread, context_signalled(), result, PARTS_ALL) : 0;
}

/* At function level, where VFS has hooks of its own. */
SEC("tp_btf/sys_enter")
int BPF_PROG(plug_enter, struct pt_regs *regs, long number)
{
	return PLUG_ENTER(ctx, OF_REGS(regs));
}

SEC("tp_btf/sys_exit")
int BPF_PROG(plug_exit, struct pt_regs *regs, long result)
{
	return GO_ON_AT_EXIT(ctx, OF_REGS(regs));
}

/* At tracepoint level. */
SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long number)
{
	call_begins(OF_REGS(regs), PARTS_ALL);
	return PLUG_ENTER(ctx, REGS_AFRESH(ctx));
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long result)
{
	call_ends(OF_REGS(regs), ctx, PARTS_ALL);
	return GO_ON_AT_EXIT(ctx, REGS_AFRESH(ctx));
}

/*
 * At tracepoint level on kernels that preempt programs: those skip a program for all other threads of a
 * CPU until the thread that was preempted in it continues. Those on classic tracepoints are not preempted.
 */
SEC("tp/raw_syscalls/sys_enter")
int sys_enter_raw(struct raw_enter *ctx)
{
	call_begins(OF_ENTER(ctx), PARTS_ALL);
	return PLUG_ENTER(ctx, OF_ENTER(ctx));
}

SEC("tp/raw_syscalls/sys_exit")
int sys_exit_raw(struct raw_exit *ctx)
{
	call_ends(OF_EXIT(ctx), ctx, PARTS_ALL);
	return GO_ON_AT_EXIT(ctx, OF_EXIT(ctx));
}

/*
 * At function level each system call has a copy of a pair of programs on its function. The daemon makes the copies,
 * and the kernel verifies each, so they are small: a copy checks whether any session may record the call, and tail
 * calls the program with the parts that the call needs, which is verified once.
 */
#define PAIR_PROGRAMS(name_)                               \
	struct {                                           \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY);     \
		__uint(max_entries, IOTR_PAIR_COUNT);      \
		__type(key, __u32);                        \
		__type(value, __u32);                      \
	} name_ SEC(".maps")

PAIR_PROGRAMS(pair_enters);
PAIR_PROGRAMS(pair_exits);

static __always_inline bool call_wanted(__u64 number)
{
	struct iotr_control *page = control_page();
	const struct iotr_call *call;

	if (!page || number >= IOTR_CALLS)
		return false;
	call = page->calls[IOTR_ABI_NATIVE] + call_index(number);
	return call[0].sessions | call[IOTR_CALLS].sessions;
}

static __always_inline bool call_in_flight(__u64 thread)
{
	const struct slot *slot = slot_find(thread);

	return slot && slot->sessions;
}

#define FUNCTION_PROGRAMS(name, parts, of)                                                      \
	SEC("fentry/__x64_sys_read")                                                            \
	int BPF_PROG(name##_enter, struct pt_regs *regs)                                        \
	{                                                                                       \
		return call_begins(of(regs), (parts) | PART_FUNCTION);                          \
	}                                                                                       \
	SEC("fexit/__x64_sys_read")                                                             \
	int BPF_PROG(name##_exit, struct pt_regs *regs, long result)                            \
	{                                                                                       \
		return call_ends(of(regs), ctx, parts);                                         \
	}

#define FUNCTION_PAIR(name, pair, parts)                                                        \
	FUNCTION_PROGRAMS(name, parts, OF_REGS)                                                 \
	SEC("fentry/__x64_sys_read")                                                            \
	int BPF_PROG(name##_enter_on, struct pt_regs *regs)                                     \
	{                                                                                       \
		if (call_wanted(number_copied()))                                               \
			bpf_tail_call(ctx, &pair_enters, pair);                                 \
		return 0;                                                                       \
	}                                                                                       \
	SEC("fexit/__x64_sys_read")                                                             \
	int BPF_PROG(name##_exit_on, struct pt_regs *regs, long result)                         \
	{                                                                                       \
		if (call_in_flight(thread_of(OF_REGS(regs))))                                   \
			bpf_tail_call(ctx, &pair_exits, pair);                                  \
		return 0;                                                                       \
	}

/* Plain calls are few, and the most frequent ones: they have copies of the whole programs, and pay for no tail call. */
FUNCTION_PROGRAMS(plain, PART_PLAIN, OF_COPY)
FUNCTION_PAIR(file, IOTR_PAIR_FILE, PART_FILE)
FUNCTION_PAIR(result, IOTR_PAIR_RESULT, PART_RESULT)
FUNCTION_PAIR(both, IOTR_PAIR_BOTH, PART_FILE | PART_RESULT)
FUNCTION_PAIR(aio, IOTR_PAIR_AIO, PART_AIO)

char LICENSE[] SEC("license") = "GPL";
