/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the running kernel has and allows, found out from its BTF and by loading programs, never by its
 * version.
 *
 * Its BTF takes megabytes. It is in memory only as long as somebody uses it: kernel_open() makes the caller a user, others
 * ask with kernel_use(), and the last one that leaves frees it. What is asked with a name needs a user.
 */
#pragma once

#include <bpf/btf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel {
	struct btf *btf;      /* NULL: nobody uses it */
	unsigned int users;   /* of btf, under the lock */
	pthread_mutex_t lock;
	bool typed_reads;     /* bpf_rdonly_cast */
	bool read_kernel;     /* bpf_probe_read_kernel */
	const char *refusal;  /* why it is refused, without which no program of any stream loads; NULL: it is not, or no program loads */
	bool function_hooks;  /* fentry and fexit load, and can be attached again and again */
	const char *function_reason; /* a text that says why, or why not */
	uint32_t *enums;      /* BTF ids of all enums, 0 at the end; NULL: not looked for yet; comes and goes with btf */
	bool preempts;	      /* it preempts BPF programs, except those on classic tracepoints */
};

/* Fails only without BTF or the privilege to load: -ENOENT, -EPERM. Main thread, as the next two. */
int kernel_open(struct kernel *kernel);

/*
 * Finds out about hooks on functions, of which nothing was known until then, by attaching some, where the kernel may wait for tenths
 * of a second. `known`: they work, as an earlier daemon has found, and none is attached.
 */
void kernel_find_hooks(struct kernel *kernel, bool known);
void kernel_done(struct kernel *kernel); /* whoever still uses it */

/* Has the BTF there until kernel_leave(); tens of milliseconds if it was not. -ENOENT: it cannot be had, do not leave. Any thread. */
int kernel_use(struct kernel *kernel);
void kernel_leave(struct kernel *kernel);

/* BTF id of a function, or -ENOENT. */
int kernel_function(const struct kernel *kernel, const char *name);

/* BTF id of a variable, which only those of a CPU have, or -ENOENT. */
int kernel_variable(const struct kernel *kernel, const char *name);

/* BTF id of the prototype of a function, by the function's BTF id; -ENOENT: that is no function. */
int kernel_prototype(const struct kernel *kernel, int function);

/*
 * BTF id of a system call's function, and its name: __x64_sys_CALL or, for a call without arguments,
 * __do_sys_CALL, which __x64_sys_CALL is an alias of. Either gets a struct pt_regs. -ENOENT: there is none.
 */
int kernel_call(const struct kernel *kernel, const char *call, char *name, size_t size);

/* BTF id of a tracepoint, or -ENOENT. */
int kernel_tracepoint(const struct kernel *kernel, const char *name);

/* Number of arguments of a tracepoint, or -ENOENT. */
int kernel_tracepoint_arity(const struct kernel *kernel, const char *name);

/* Number of arguments of a function, or -ENOENT. */
int kernel_function_arity(const struct kernel *kernel, const char *name);

/* Value of an enumerator in any enum of the kernel; false: there is none of that name, or no memory. */
bool kernel_enumerator(struct kernel *kernel, const char *name, unsigned int *value);
