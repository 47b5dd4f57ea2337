/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the running kernel has and lets us do, asked of the kernel itself: its BTF, and programs
 * that are really loaded. Never inferred from its version. Main thread.
 */
#pragma once

#include <bpf/btf.h>
#include <stdbool.h>
#include <stddef.h>

struct kernel {
	struct btf *btf;
	bool typed_reads;     /* bpf_rdonly_cast */
	bool read_kernel;     /* bpf_probe_read_kernel */
	bool function_hooks;  /* fentry and fexit load, and can be attached again and again */
	const char *function_reason; /* why not */
	bool preempts;	      /* programs too, but not on classic tracepoints */
};

/* Fails only without BTF or the privilege to load: -ENOENT, -EPERM. */
int kernel_open(struct kernel *kernel);
void kernel_done(struct kernel *kernel);

/* BTF id of a function, or -ENOENT. */
int kernel_function(const struct kernel *kernel, const char *name);

/*
 * The function of a system call that takes its registers, and its name: __x64_sys_CALL, or, for a
 * call without arguments, __do_sys_CALL, which the other is an alias of. -ENOENT.
 */
int kernel_call(const struct kernel *kernel, const char *call, char *name, size_t size);

/* BTF id of a tracepoint, or -ENOENT. */
int kernel_tracepoint(const struct kernel *kernel, const char *name);

/* Number of arguments of a tracepoint, or -ENOENT. */
int kernel_tracepoint_arity(const struct kernel *kernel, const char *name);

/* Number of arguments of a function, or -ENOENT. */
int kernel_function_arity(const struct kernel *kernel, const char *name);

/* Value of an enumerator, whichever enum it is in; false when there is none. */
bool kernel_enumerator(const struct kernel *kernel, const char *name, unsigned int *value);
