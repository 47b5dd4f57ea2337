/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accounts of the counts by layer, and who has them. An account is found by its key in a hash map, and counts in an array
 * of each CPU. Its index comes from a queue, which the daemon fills: when it is empty, what is new counts on one account
 * for all of that. The daemon gives an index back a while after its process has ended.
 */
#pragma once

#include "actor.bpf.h"
#include "files.bpf.h"
#include "layer_counts.h"

#define LAYER_PROCESSES 4096 /* that are known, at most */
#define LAYER_FAMILY 131072  /* processes of commands, at most */

/* The daemon sets the sizes of those with one entry. */
ARRAY_PER_CPU(layer_counts, struct iotr_layer_counts, 1);
ARRAY_OF(layer_keys, struct iotr_layer_key, 1, BPF_F_MMAPABLE); /* by index */
HASH_OF(layer_accounts, HASH, struct iotr_layer_key, __u32, 1);
HASH_OF(layer_processes, HASH, __u32, struct iotr_layer_process, LAYER_PROCESSES);

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, __u32);
} layer_free SEC(".maps");

/*
 * Processes of commands, with the commands as bits; see layers_follow() of the daemon. They stay when the process has ended, as
 * what it wrote may reach the disk late.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* there are none but for a command */
	__uint(max_entries, LAYER_FAMILY);
	__type(key, struct iotr_layer_family);
	__type(value, __u32);
} layer_families SEC(".maps");
ARRAY_OF(layer_unfollowed, __u64, 1, 0); /* processes for which there was no room there */

/* A process: as in a key. Both 0: the kernel, or not known. */
struct layer_origin {
	__u64 start_ns;
	__u32 process;
	__u32 own; /* one of iotracer's: it has the account IOTR_LAYER_OWN */
};

/* ---- processes ---- */

static __always_inline struct task_struct *leader_of(struct task_struct *task)
{
	return FOLLOW(task, group_leader);
}

static __always_inline __u64 started(struct task_struct *task)
{
	return FOLLOW(leader_of(task), start_boottime);
}

static __always_inline void executable_read(struct task_struct *task, char *text)
{
	struct mm_struct___exe *memory = (void *)FOLLOW(task, mm);
	__u64 file = memory ? (__u64)READ(struct mm_struct___exe, memory, exe_file) : 0;
	struct dentry *dentry = file ? READ(struct file, file, f_path.dentry) : NULL;

	if (dentry)
		bpf_probe_read_kernel_str(text, IOTR_LAYER_EXECUTABLE, READ(struct dentry, dentry, d_name.name));
}

/* Notes who the current process is, as of now. A global function. */
__noinline int process_note(__u64 exited_ns)
{
	struct task_struct *task = current_task();
	__u32 tgid = task_tgid(task);
	struct iotr_layer_process process = { .start_ns = started(task) }, *known;

	known = bpf_map_lookup_elem(&layer_processes, &tgid);
	process.exited_ns = exited_ns;
	process.cgroup_id = task_cgroup(task);
	process.ppid = task_ppid(task);
	process.uid = task_uid(task);
	task_command(task, (struct iotr_command *)process.command);
	if (exited_ns && known && known->start_ns == process.start_ns) /* its memory is gone already */
		__builtin_memcpy(process.executable, known->executable, sizeof(process.executable));
	else
		executable_read(task, process.executable);
	bpf_map_update_elem(&layer_processes, &tgid, &process, BPF_ANY);
	return 0;
}

/* The process of the current thread; none if that is a kernel thread, which works for others. */
static __always_inline struct layer_origin origin_current(void)
{
	struct task_struct *task = current_task();
	struct iotr_control *page = control_page();
	struct layer_origin origin = {};

	if (FOLLOW(task, flags) & PF_KTHREAD)
		return origin;
	origin.process = task_tgid(task);
	if (!origin.process)
		return origin;
	origin.start_ns = started(task);
	origin.own = page && is_own(page, origin.process);
	return origin;
}

/* ---- accounts ---- */

/* Makes an account; IOTR_LAYER_OTHER: there is no room. A global function. */
__noinline __u32 account_new(__u64 start_ns, __u32 process, __u32 device)
{
	struct iotr_layer_key key = { start_ns, process, device }, *entry;
	__u32 index = 0, *known;

	if (!process && !device) /* would look like an account that is free */
		return IOTR_LAYER_OTHER;
	if (bpf_map_pop_elem(&layer_free, &index))
		return IOTR_LAYER_OTHER;
	entry = bpf_map_lookup_elem(&layer_keys, &index);
	if (!entry)
		return IOTR_LAYER_OTHER;
	*entry = key;
	if (!bpf_map_update_elem(&layer_accounts, &key, &index, BPF_NOEXIST))
		return index;
	entry->start_ns = entry->process = entry->device = 0;
	bpf_map_push_elem(&layer_free, &index, BPF_ANY);
	known = bpf_map_lookup_elem(&layer_accounts, &key); /* another CPU was faster */
	return known ? *known : IOTR_LAYER_OTHER;
}

/* The account of a process and a device. A global function. */
__noinline __u32 account_find(__u64 start_ns, __u32 process, __u32 device)
{
	struct iotr_layer_key key = { start_ns, process, device };
	__u32 *index = bpf_map_lookup_elem(&layer_accounts, &key);

	return index ? *index : account_new(start_ns, process, device);
}

static __always_inline __u32 account_of(const struct layer_origin *origin, __u32 device)
{
	if (origin->own)
		return IOTR_LAYER_OWN;
	return account_find(origin->start_ns, origin->process, device);
}

/* The account of the current process and a device; notes the process if it has no such account yet. A global function. */
__noinline __u32 account_current(__u32 device)
{
	struct layer_origin origin = origin_current();
	struct iotr_layer_key key = { origin.start_ns, origin.process, device };
	const struct iotr_layer_process *known;
	__u32 *index;

	if (origin.own)
		return IOTR_LAYER_OWN;
	index = bpf_map_lookup_elem(&layer_accounts, &key);
	if (index)
		return *index;
	known = origin.process ? bpf_map_lookup_elem(&layer_processes, &origin.process) : NULL;
	if (origin.process && (!known || known->start_ns != origin.start_ns))
		process_note(0);
	return account_new(origin.start_ns, origin.process, device);
}

/* ---- counting ---- */

static __always_inline struct iotr_layer_counts *counts_of(__u32 index)
{
	return bpf_map_lookup_elem(&layer_counts, &index);
}

/* Adds, where programs in interrupts may count the same on this CPU. */
static __always_inline void sum_add(struct iotr_layer_sum *sum, __u64 operations, __u64 bytes)
{
	/* Of adding a constant 0 the compiler makes an instruction that the oldest kernels refuse. */
	if (!__builtin_constant_p(operations) || operations)
		__sync_fetch_and_add(&sum->operations, operations);
	__sync_fetch_and_add(&sum->bytes, bytes);
}

/* A number to be taken off, hidden from the compiler, which would make a subtraction that the oldest kernels refuse. */
static __always_inline __u64 minus(__u64 number)
{
	number = 0 - number;
	asm volatile("" : "+r"(number));
	return number;
}

/* Counts operations on an account; `layer` must be a constant. */
#define COUNT_LAYER(index, layer, operations, bytes)                                            \
	({                                                                                      \
		struct iotr_layer_counts *counts_ = counts_of(index);                           \
		if (counts_)                                                                    \
			sum_add(&counts_->sums[layer], operations, bytes);                      \
	})

/* The bucket of a latency, 0 to IOTR_LAYER_BUCKETS - 1. */
static __always_inline __u32 bucket_of(__u64 ns)
{
	__u32 bucket = 0;

	ns >>= 6;
	if (ns >> 32)
		return IOTR_LAYER_BUCKETS - 1;
	if (ns >> 16) {
		bucket += 16;
		ns >>= 16;
	}
	if (ns >> 8) {
		bucket += 8;
		ns >>= 8;
	}
	if (ns >> 4) {
		bucket += 4;
		ns >>= 4;
	}
	if (ns >> 2) {
		bucket += 2;
		ns >>= 2;
	}
	return (bucket + (ns >> 1)) & (IOTR_LAYER_BUCKETS - 1);
}

/* Counts the latency of an operation that ends now, where programs in interrupts may do so on this CPU. A global function. */
__noinline int latency_ends(__u32 index, __u32 layer, __u64 begin_ns)
{
	struct iotr_layer_counts *counts = counts_of(index);
	__u64 latency = bpf_ktime_get_ns() - begin_ns, timed = layer;
	__u32 bucket = bucket_of(latency);

	asm volatile("" : "+r"(timed)); /* older verifiers lose the bounds of a number that is copied before they are known */
	if (!counts || !begin_ns || timed >= IOTR_LAYER_TIMED)
		return 0;
	__sync_fetch_and_add(&counts->latency_ns[timed], latency);
	__sync_fetch_and_add(&counts->latency[timed][bucket], 1);
	return 0;
}
