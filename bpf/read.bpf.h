/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading fields of the kernel's objects, and of the current task. */
#pragma once

#include "maps.bpf.h"

extern void *bpf_rdonly_cast(void *object, __u32 type_id) __ksym __weak;

/* An object by its address, where `typed_reads`: for several of its fields, as READ() is for one. */
#define CAST(type, address) ((type *)bpf_rdonly_cast((void *)(address), bpf_core_type_id_kernel(type)))

/*
 * Reads a field by the helper, where a kernel has no typed load of it. The compiler takes out of two branches what is the same
 * in both, and the load would need three instructions: so the offset is told in another way here, and APART() keeps the value
 * of the load in its branch.
 */
#define APART(value) asm volatile("" : "+r"(value))
#define READ_AT(ret, object, type, field)                                                       \
	bpf_probe_read_kernel(ret, sizeof(*(ret)), (void *)(object) + bpf_core_field_offset(type, field))

/*
 * A field of a kernel object: by a typed load where the kernel has them (a few instructions, a fault
 * reads as zero), otherwise by a helper (some 30 ns).
 */
#define READ(type, object, field)                                                               \
	({                                                                                      \
		void *object_ = (void *)(object);                                               \
		typeof(((type *)0)->field) value_;                                              \
		if (typed_reads) {                                                              \
			typeof(value_) loaded_ = ((type *)bpf_rdonly_cast(object_,              \
						  bpf_core_type_id_kernel(type)))->field;       \
			APART(loaded_);                                                         \
			value_ = loaded_;                                                       \
		} else {                                                                        \
			READ_AT(&value_, object_, type, field);                                 \
		}                                                                               \
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
			READ_AT(&address_, owner_, type, field);                                \
		address_;                                                                       \
	})

/* The 64-bit number at an address. */
static __always_inline __u64 word_at(__u64 address)
{
	return READ(struct timespec64, address, tv_sec);
}

/*
 * The first bytes of an object, for kernels without typed loads: one call of the helper for all fields that lie there. A
 * field that this kernel has further behind is read by itself.
 */
struct object_head {
	__u64 words[9];
};

static __always_inline void head_read(struct object_head *head, __u64 object)
{
	if (!typed_reads)
		bpf_probe_read_kernel(head, sizeof(*head), (void *)object);
}

/* A field of an object whose head was read; with READ or ADDRESS for where it is not in the head. */
#define HEAD_GET(get, known, type, object, field)                                                \
	({                                                                                      \
		__typeof__(get(type, object, field)) got_;                                      \
                                                                                                \
		if (!typed_reads && bpf_core_field_offset(type, field) + sizeof(got_) <= sizeof(struct object_head)) \
			got_ = *(__typeof__(got_) *)((void *)(known) + bpf_core_field_offset(type, field)); \
		else                                                                            \
			got_ = get(type, object, field);                                        \
		got_;                                                                           \
	})
#define HEAD_FIELD(head, type, object, field)	HEAD_GET(READ, head, type, object, field)
#define HEAD_ADDRESS(head, type, object, field) HEAD_GET(ADDRESS, head, type, object, field)

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
	return &control;
}

/* Whether the verifier knows the type of the current task (5.11): then what a walk from it meets are plain loads. */
#define TASK_IS_TYPED bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)

static __always_inline struct task_struct *current_task(void)
{
	if (TASK_IS_TYPED)
		return bpf_get_current_task_btf();
	return (struct task_struct *)bpf_get_current_task();
}

/*
 * A field of current_task(), of a task that is an argument of a program on a typed tracepoint, or of what such a field points
 * to. A task that was kept as a number has no type: READ() is for that.
 */
#define FOLLOW(object, field)                                                                   \
	({                                                                                      \
		typeof(object) from_ = (object);                                                \
		typeof(from_->field) followed_;                                                 \
		if (TASK_IS_TYPED) {                                                            \
			typeof(from_->field) loaded_ = from_->field;                            \
			APART(loaded_);                                                         \
			followed_ = loaded_;                                                    \
		} else {                                                                        \
			READ_AT(&followed_, from_, typeof(*(object)), field);                   \
		}                                                                               \
		followed_;                                                                      \
	})

/* Whether FOLLOW() is all that plain loads are to be had by (5.11 to 6.1). */
#define TYPES_ARE_FOLLOWED (TASK_IS_TYPED && !typed_reads)

/*
 * Properties of the current task. Where its type is known they are read from its struct task_struct: a helper call for
 * each would cost more than the rest of a row.
 */
static __always_inline __u32 task_tid(struct task_struct *task)
{
	return TASK_IS_TYPED ? (__u32)FOLLOW(task, pid) : (__u32)bpf_get_current_pid_tgid();
}

static __always_inline __u32 task_tgid(struct task_struct *task)
{
	return TASK_IS_TYPED ? (__u32)FOLLOW(task, tgid) : (__u32)(bpf_get_current_pid_tgid() >> 32);
}

static __always_inline __u32 task_ppid(struct task_struct *task)
{
	return FOLLOW(FOLLOW(task, real_parent), tgid);
}

static __always_inline __u32 task_uid(struct task_struct *task)
{
	return TASK_IS_TYPED ? FOLLOW(FOLLOW(task, cred), uid.val) : (__u32)bpf_get_current_uid_gid();
}

static __always_inline __u64 task_cgroup(struct task_struct *task)
{
	if (!TASK_IS_TYPED)
		return bpf_get_current_cgroup_id();
	return FOLLOW(FOLLOW(FOLLOW(FOLLOW(task, cgroups), dfl_cgrp), kn), id);
}

/* Whether what follows the end of a task's name is zero (5.17, as is that helper): before, it is of an earlier name. */
#define COMMAND_IS_PADDED bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)

static __always_inline void task_command(struct task_struct *task, struct iotr_command *command)
{
	if (!TASK_IS_TYPED || !COMMAND_IS_PADDED) {
		__builtin_memset(command, 0, sizeof(*command));
		bpf_get_current_comm(command->text, sizeof(command->text));
		return;
	}
	((__u64 *)command->text)[0] = *(__u64 *)__builtin_preserve_access_index(&task->comm[0]);
	((__u64 *)command->text)[1] = *(__u64 *)__builtin_preserve_access_index(&task->comm[8]);
}
