/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hooks on the functions of single system calls: copies of a pair of programs, verified and loaded once
 * for each function, attached and detached together. Main thread.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stddef.h>

#include "probes/kernel.h"

struct functions;
struct probes_runs;

/* Loads copies of the pair of programs that each call of the table needs, from the loaded object. */
int functions_new(const struct kernel *kernel, struct bpf_object *object, struct functions **ret);
void functions_free(struct functions *functions); /* takes NULL */

/* Attaches what is not attached yet; `failed` is called for each call that cannot be attached. */
struct call;
typedef void (*functions_failed)(const struct call *call, int error, void *userdata);
int functions_attach(struct functions *functions, functions_failed failed, void *userdata);

/* Returns at once; a thread detaches. functions_attached() counts what is left; functions_attach() waits for it. */
void functions_detach(struct functions *functions);

/* How often the kernel skipped a program, summed over all of them; see probes_missed(). */
uint64_t functions_missed(const struct functions *functions);

/* Adds the runs of all of them, see probes_runs(). */
void functions_runs(const struct functions *functions, struct probes_runs *runs);

size_t functions_attached(const struct functions *functions);
