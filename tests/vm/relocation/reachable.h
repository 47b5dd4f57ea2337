/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which instructions of a BPF program can be run, as far as constants decide it: what CO-RE settles when a program is
 * loaded (whether a field exists) is a constant by then, and code that stands behind it is dead on such a kernel.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

/* An instruction that CO-RE could not relocate became a call of this number. */
#define RELOCATION_FAILED 195896080

/*
 * Sets reachable[i] for each of `count` instructions, of which the first is the program's entry. Subprograms have been
 * appended. Returns 0, -ENOMEM, or -EINVAL if a jump leads out of the program.
 */
int find_reachable(const struct bpf_insn *insns, size_t count, bool *reachable);

/*
 * Bytes of stack that the deepest chain of functions takes, each rounded up to `rounding`. Only what is reachable counts.
 * Kernels that give programs no stack of their own refuse more than STACK_MAX.
 */
size_t stack_depth(const struct bpf_insn *insns, size_t count, const bool *reachable, size_t rounding);

#define STACK_MAX 512
