/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hooks on the functions of single system calls: two programs, verified and loaded once for each
 * function, attached all together. Main thread.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stddef.h>

#include "probes/kernel.h"

struct functions;
struct probes_runs;

/* Clones the pair of the loaded object that each call of the table needs. */
int functions_new(const struct kernel *kernel, struct bpf_object *object, struct functions **ret);
void functions_free(struct functions *functions); /* takes NULL */

int functions_attach(struct functions *functions);

/* Returns at once; functions_attached() tells how far it is. Attaching waits for it. */
void functions_detach(struct functions *functions);

/* How often the kernel left out a program, over all of them. */
uint64_t functions_missed(const struct functions *functions);

/* Adds what all of them ran: see probes_runs(). */
void functions_runs(const struct functions *functions, struct probes_runs *runs);

size_t functions_attached(const struct functions *functions);
