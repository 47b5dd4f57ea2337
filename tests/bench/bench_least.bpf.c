// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The least that rows can cost: programs that do what hardly a tracer of such rows gets round, and nothing else. They read
 * the clock twice, keep the beginning by thread or by address, and put a record of the size of a row into a ring, with who made
 * the call, its arguments, and which file it was about. No sessions, no filters, no name, no check of anything.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

#include "kernel.h"
#include "record.h"

#define THREADS	    16384
#define STACK_SHIFT 14
#define NR_pread64  17

/* What a row has of the arguments. */
struct asked {
	__u64 fd, size, offset;
};

struct begun {
	__u64 thread;
	__u64 start_ns;
	struct asked asked; /* only of programs that see no registers when the call ends */
};

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

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, THREADS);
	__type(key, __u32);
	__type(value, struct begun);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24); /* nobody reads it: for all rows of a sample of preads */
} rows SEC(".maps");

extern void *bpf_rdonly_cast(const void *object, __u32 type_id) __ksym __weak;

/* As in bpf/read.bpf.h: by typed load where the kernel has them, else by the helper. */
#define READ(type, object, field)                                                               \
	({                                                                                      \
		void *object_ = (void *)(object);                                               \
		typeof(((type *)0)->field) value_;                                              \
		if (bpf_rdonly_cast) /* the kernel has it */                                    \
			value_ = ((type *)bpf_rdonly_cast(object_,                              \
							  bpf_core_type_id_kernel(type)))       \
					 ->field;                                               \
		else                                                                            \
			bpf_core_read(&value_, sizeof(value_), &((type *)object_)->field);      \
		value_;                                                                         \
	})

/* As there: whether the current task has a type (5.11), and a field of it or of what it points to. */
#define TASK_IS_TYPED bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)
#define FOLLOW(object, field)                                                                   \
	({                                                                                      \
		typeof(object) from_ = (object);                                                \
		typeof(from_->field) followed_;                                                 \
		if (TASK_IS_TYPED) {                                                            \
			typeof(from_->field) loaded_ = from_->field;                            \
			asm volatile("" : "+r"(loaded_)); /* stays in this branch */            \
			followed_ = loaded_;                                                    \
		} else {                                                                        \
			bpf_core_read(&followed_, sizeof(followed_), &from_->field);            \
		}                                                                               \
		followed_;                                                                      \
	})

static __always_inline struct task_struct *current_task(void)
{
	return TASK_IS_TYPED ? bpf_get_current_task_btf() : (struct task_struct *)bpf_get_current_task();
}

/* The thread that has this address on its stack. */
static __always_inline __u64 thread_of(const void *stack)
{
	__u64 address = (__u64)stack;

	asm volatile("%0 = be64 %0; %0 = be64 %0" : "+r"(address)); /* a number from here on */
	return address >> STACK_SHIFT;
}

static __always_inline struct begun *begun_of(__u64 thread)
{
	__u32 index = thread & (THREADS - 1);

	return bpf_map_lookup_elem(&threads, &index);
}

/* Returns what is kept of the call, or NULL. */
static __always_inline struct begun *begins(__u64 thread)
{
	struct begun *begun = begun_of(thread);

	if (!begun)
		return NULL;
	begun->thread = thread;
	begun->start_ns = bpf_ktime_get_ns();
	return begun;
}

static __always_inline void task_fill(struct iotr_record *head, struct task_struct *task)
{
	head->ppid = FOLLOW(FOLLOW(task, real_parent), tgid);
	if (!TASK_IS_TYPED) {
		head->cgroup_id = bpf_get_current_cgroup_id();
		head->pid = bpf_get_current_pid_tgid() >> 32;
		head->tid = bpf_get_current_pid_tgid();
		head->uid = bpf_get_current_uid_gid();
		bpf_get_current_comm(head->command, sizeof(head->command));
		return;
	}
	head->cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	head->pid = task->tgid;
	head->tid = task->pid;
	head->uid = task->cred->uid.val;
	((__u64 *)head->command)[0] = *(__u64 *)__builtin_preserve_access_index(&task->comm[0]);
	((__u64 *)head->command)[1] = *(__u64 *)__builtin_preserve_access_index(&task->comm[8]);
}

static __always_inline void file_fill(struct iotr_file *ret, struct task_struct *task, __u32 fd)
{
	struct fdtable *table = FOLLOW(FOLLOW(task, files), fdt);
	struct inode *inode;
	struct file *file;

	if (fd >= FOLLOW(table, max_fds))
		return;
	file = (struct file *)READ(struct timespec64, FOLLOW(table, fd) + fd, tv_sec);
	inode = READ(struct file, file, f_inode);
	ret->flags = READ(struct file, file, f_flags);
	ret->inode = READ(struct inode, inode, i_ino);
	ret->device = READ(struct super_block, READ(struct inode, inode, i_sb), s_dev);
}

/* `kept`: the arguments are what was kept of them; otherwise they are still in the registers. */
static __always_inline int ends(__u64 thread, bool kept, const struct pt_regs *regs, long result)
{
	struct task_struct *task = current_task();
	__u64 end = bpf_ktime_get_ns();
	struct begun *begun = begun_of(thread);
	struct iotr_vfs_record *row;
	struct asked asked;

	if (!begun || begun->thread != thread)
		return 0;
	row = bpf_ringbuf_reserve(&rows, sizeof(*row), 0);
	if (!row)
		return 0;
	asked = kept ? begun->asked : (struct asked){ regs->di, regs->dx, regs->r10 };
	__builtin_memset(row, 0, sizeof(*row));
	row->head.start_ns = begun->start_ns;
	row->head.latency_ns = end - begun->start_ns;
	row->head.cpu = bpf_get_smp_processor_id();
	task_fill(&row->head, task);
	file_fill(&row->file, task, asked.fd);
	row->fd = asked.fd;
	row->size = asked.size;
	row->offset = asked.offset;
	row->result = result;
	begun->thread = 0;
	bpf_ringbuf_submit(row, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("fentry/__x64_sys_pread64")
int BPF_PROG(function_enter, struct pt_regs *regs)
{
	begins(thread_of(regs));
	return 0;
}

SEC("fexit/__x64_sys_pread64")
int BPF_PROG(function_exit, struct pt_regs *regs, long result)
{
	return ends(thread_of(regs), false, regs, result);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(tracepoint_enter, struct pt_regs *regs, long number)
{
	if (number == NR_pread64)
		begins(thread_of(regs));
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(tracepoint_exit, struct pt_regs *regs, long result)
{
	return regs->orig_ax == NR_pread64 ? ends(thread_of(regs), false, regs, result) : 0;
}

/* Of these a kernel that preempts programs leaves none out. */
SEC("tp/raw_syscalls/sys_enter")
int classic_enter(struct raw_enter *ctx)
{
	struct begun *begun = ctx->number == NR_pread64 ? begins(thread_of(FOLLOW(current_task(), stack))) : NULL;

	if (begun)
		begun->asked = (struct asked){ ctx->args[0], ctx->args[2], ctx->args[3] };
	return 0;
}

SEC("tp/raw_syscalls/sys_exit")
int classic_exit(struct raw_exit *ctx)
{
	return ctx->number == NR_pread64 ?
		       ends(thread_of(FOLLOW(current_task(), stack)), true, NULL, ctx->result) :
		       0;
}

/* ---- three rows of a direct read by io_uring: two of the request, one of the disk's, with who made it and nothing else ---- */

#define ADDRESS_SHIFT 6

struct held {
	__u64 start_ns;
	struct iotr_record head;
};

#define HELD_BY_ADDRESS(name_)                             \
	struct {                                           \
		__uint(type, BPF_MAP_TYPE_ARRAY);          \
		__uint(max_entries, THREADS);              \
		__type(key, __u32);                        \
		__type(value, struct held);                \
	} name_ SEC(".maps")

HELD_BY_ADDRESS(uring_held);
HELD_BY_ADDRESS(block_held);

static __always_inline struct held *held_of(void *table, const void *object)
{
	__u64 address = (__u64)object;
	__u32 index;

	asm volatile("%0 = be64 %0; %0 = be64 %0" : "+r"(address)); /* a number from here on */
	index = address >> ADDRESS_SHIFT & (THREADS - 1);
	return bpf_map_lookup_elem(table, &index);
}

static __always_inline int held_begins(struct held *held)
{
	if (!held)
		return 0;
	task_fill(&held->head, bpf_get_current_task_btf());
	held->start_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int held_ends(const struct held *held)
{
	struct iotr_vfs_record *row;

	if (!held || !held->start_ns)
		return 0;
	row = bpf_ringbuf_reserve(&rows, sizeof(*row), 0);
	if (!row)
		return 0;
	__builtin_memset(row, 0, sizeof(*row));
	row->head = held->head;
	row->head.start_ns = held->start_ns;
	row->head.latency_ns = bpf_ktime_get_ns() - held->start_ns;
	bpf_ringbuf_submit(row, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(all_submit, struct io_kiocb *request)
{
	return held_begins(held_of(&uring_held, request));
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(all_complete, void *ring, struct io_kiocb *request)
{
	struct held *held = held_of(&uring_held, request);

	held_ends(held);
	return held_ends(held);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(all_issue, struct request *request)
{
	return held_begins(held_of(&block_held, request));
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(all_end, struct request *request)
{
	return held_ends(held_of(&block_held, request));
}

char LICENSE[] SEC("license") = "GPL";
