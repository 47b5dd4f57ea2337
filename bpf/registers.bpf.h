/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers that user space entered the kernel with, for programs that do not have them in their context. */
#pragma once

#include "calls.bpf.h"

#define THREAD_SIZE  (1UL << STACK_SHIFT)
#define PT_REGS_SIZE 168

/* Whether the verifier knows the type of what registers_of() returns (5.15). */
#define REGISTERS_ARE_TYPED bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)

/* The user registers that a thread, which is current_task(), entered the kernel with. */
static __always_inline struct pt_regs *registers_of(struct task_struct *task)
{
	if (REGISTERS_ARE_TYPED)
		return (struct pt_regs *)bpf_task_pt_regs(task);
	return (struct pt_regs *)((__u64)FOLLOW(task, stack) + THREAD_SIZE - PT_REGS_SIZE);
}

static __always_inline struct pt_regs *user_registers(void)
{
	return registers_of(current_task());
}

/* One of registers_of(). */
#define REGISTER(regs, field)                                                                   \
	({                                                                                      \
		struct pt_regs *registers_ = (regs);                                            \
		typeof(registers_->field) register_;                                            \
		if (REGISTERS_ARE_TYPED) {                                                      \
			typeof(register_) loaded_ = registers_->field;                          \
			APART(loaded_);                                                         \
			register_ = loaded_;                                                    \
		} else {                                                                        \
			READ_AT(&register_, registers_, struct pt_regs, field);                 \
		}                                                                               \
		register_;                                                                      \
	})
