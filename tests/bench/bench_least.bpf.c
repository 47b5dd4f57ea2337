// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The least that a row of a pread can cost: programs that do what hardly a tracer of such rows gets round, and nothing else. They
 * read the clock twice, keep the beginning by thread, and put a record of the size of a row into a ring, with who made the
 * call, its arguments, and which file it was about. No sessions, no filters, one call, no name, no check of anything.
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

struct begun {
	__u64 thread;
	__u64 start_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, THREADS);
	__type(key, __u32);
	__type(value, struct begun);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24); /* nobody reads it: for all rows of a sample */
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

static __always_inline __u64 thread_of(const struct pt_regs *regs)
{
	__u64 address = (__u64)regs;

	asm volatile("%0 = be64 %0; %0 = be64 %0" : "+r"(address)); /* a number from here on */
	return address >> STACK_SHIFT;
}

static __always_inline struct begun *begun_of(__u64 thread)
{
	__u32 index = thread & (THREADS - 1);

	return bpf_map_lookup_elem(&threads, &index);
}

static __always_inline int begins(const struct pt_regs *regs)
{
	__u64 thread = thread_of(regs);
	struct begun *begun = begun_of(thread);

	if (!begun)
		return 0;
	begun->thread = thread;
	begun->start_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void task_fill(struct iotr_record *head, const struct task_struct *task)
{
	head->cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	head->pid = task->tgid;
	head->tid = task->pid;
	head->ppid = task->real_parent->tgid;
	head->uid = task->cred->uid.val;
	((__u64 *)head->command)[0] = *(__u64 *)__builtin_preserve_access_index(&task->comm[0]);
	((__u64 *)head->command)[1] = *(__u64 *)__builtin_preserve_access_index(&task->comm[8]);
}

static __always_inline void file_fill(struct iotr_file *ret, const struct task_struct *task, __u32 fd)
{
	struct fdtable *table = task->files->fdt;
	struct inode *inode;
	struct file *file;

	if (fd >= table->max_fds)
		return;
	file = (struct file *)READ(struct timespec64, table->fd + fd, tv_sec);
	inode = READ(struct file, file, f_inode);
	ret->flags = READ(struct file, file, f_flags);
	ret->inode = READ(struct inode, inode, i_ino);
	ret->device = READ(struct super_block, READ(struct inode, inode, i_sb), s_dev);
}

static __always_inline int ends(const struct pt_regs *regs, long result)
{
	__u64 thread = thread_of(regs), end = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();
	struct begun *begun = begun_of(thread);
	struct iotr_vfs_record *row;

	if (!begun || begun->thread != thread)
		return 0;
	row = bpf_ringbuf_reserve(&rows, sizeof(*row), 0);
	if (!row)
		return 0;
	__builtin_memset(row, 0, sizeof(*row));
	row->head.start_ns = begun->start_ns;
	row->head.latency_ns = end - begun->start_ns;
	row->head.cpu = bpf_get_smp_processor_id();
	task_fill(&row->head, task);
	file_fill(&row->file, task, regs->di);
	row->fd = regs->di;
	row->size = regs->dx;
	row->offset = regs->r10;
	row->result = result;
	begun->thread = 0;
	bpf_ringbuf_submit(row, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("fentry/__x64_sys_pread64")
int BPF_PROG(function_enter, struct pt_regs *regs)
{
	return begins(regs);
}

SEC("fexit/__x64_sys_pread64")
int BPF_PROG(function_exit, struct pt_regs *regs, long result)
{
	return ends(regs, result);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(tracepoint_enter, struct pt_regs *regs, long number)
{
	return number == NR_pread64 ? begins(regs) : 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(tracepoint_exit, struct pt_regs *regs, long result)
{
	return regs->orig_ax == NR_pread64 ? ends(regs, result) : 0;
}

char LICENSE[] SEC("license") = "GPL";
