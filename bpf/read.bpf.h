/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading fields of the kernel's objects, and of the current task. */
#pragma once

#include "maps.bpf.h"

extern void *bpf_rdonly_cast(void *object, __u32 type_id) __ksym __weak;

/*
 * A field of a kernel object: by a typed load where the kernel has them (a few instructions, a fault
 * reads as zero), otherwise by a helper (some 30 ns).
 */
#define READ(type, object, field)                                                               \
	({                                                                                      \
		void *object_ = (void *)(object);                                               \
		typeof(((type *)0)->field) value_;                                              \
		if (typed_reads)                                                                \
			value_ = ((type *)bpf_rdonly_cast(object_,                              \
							  bpf_core_type_id_kernel(type)))       \
					 ->field;                                               \
		else                                                                            \
			bpf_core_read(&value_, sizeof(value_), &((type *)object_)->field);      \
		value_;                                                                         \
	})

/*
 * A pointer field as a number, which allows arithmetic and can be passed to any function. A typed load by
 * its own type would yield a pointer, so it is read as the 64-bit number of a struct timespec64.
 */
#define ADDRESS(type, object, field)                                                            \
	({                                                                                      \
		void *owner_ = (void *)(object);                                                \
		__u64 address_ = 0;                                                             \
		if (typed_reads)                                                                \
			address_ = READ(struct timespec64, owner_ + bpf_core_field_offset(type, field), \
					tv_sec);                                                \
		else                                                                            \
			bpf_core_read(&address_, sizeof(address_), &((type *)owner_)->field);   \
		address_;                                                                       \
	})

/*
 * A pointer as a scalar, which global functions take as an argument. The two byte swaps leave the value as it is, and
 * hide from the verifier that it was a pointer.
 */
static __always_inline __u64 number_of(__u64 address)
{
	asm volatile("%0 = be64 %0; %0 = be64 %0" : "+r"(address));
	return address;
}

static __always_inline struct iotr_control *control_page(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&control, &zero);
}

static __always_inline struct task_struct *current_task(void)
{
	return (struct task_struct *)bpf_get_current_task();
}

/*
 * Properties of the current task. With typed loads they are read from its struct task_struct: a helper
 * call for each would cost more than the rest of a row.
 */
static __always_inline __u32 task_tid(struct task_struct *task)
{
	return typed_reads ? (__u32)READ(struct task_struct, task, pid) :
			     (__u32)bpf_get_current_pid_tgid();
}

static __always_inline __u32 task_tgid(struct task_struct *task)
{
	return typed_reads ? (__u32)READ(struct task_struct, task, tgid) :
			     (__u32)(bpf_get_current_pid_tgid() >> 32);
}

static __always_inline __u32 task_ppid(struct task_struct *task)
{
	return READ(struct task_struct, READ(struct task_struct, task, real_parent), tgid);
}

static __always_inline __u32 task_uid(struct task_struct *task)
{
	return typed_reads ? READ(struct cred, READ(struct task_struct, task, cred), uid.val) :
			     (__u32)bpf_get_current_uid_gid();
}

static __always_inline __u64 task_cgroup(struct task_struct *task)
{
	struct cgroup *cgroup;

	if (!typed_reads)
		return bpf_get_current_cgroup_id();
	cgroup = READ(struct css_set, READ(struct task_struct, task, cgroups), dfl_cgrp);
	return READ(struct kernfs_node, READ(struct cgroup, cgroup, kn), id);
}

static __always_inline void task_command(struct task_struct *task, struct iotr_command *command)
{
	struct task_struct *typed;

	if (!typed_reads) {
		__builtin_memset(command, 0, sizeof(*command)); /* 6.1 writes nothing after the end of a name */
		bpf_get_current_comm(command->text, sizeof(command->text));
		return;
	}
	typed = bpf_rdonly_cast(task, bpf_core_type_id_kernel(struct task_struct));
	((__u64 *)command->text)[0] = *(__u64 *)__builtin_preserve_access_index(&typed->comm[0]);
	((__u64 *)command->text)[1] = *(__u64 *)__builtin_preserve_access_index(&typed->comm[8]);
}
