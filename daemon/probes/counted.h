/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs on software perf events, one event for each CPU. */
#pragma once

#include <bpf/libbpf.h>
#include <stdint.h>

/* PERF_COUNT_SW_* for a program on a software perf event, by its name; -ENOENT for all other programs. */
int counted_number(const struct bpf_program *program, uint64_t *number);

/*
 * Attaches a program on one CPU, to run for one in `period` events. `event` is a descriptor for
 * counted_period(), which the caller closes. -ENODEV: the CPU is not online; -EACCES, -EPERM: not allowed.
 */
int counted_attach(const struct bpf_program *program, uint64_t number, int cpu, uint64_t period, int *event,
		   struct bpf_link **ret);

/* Changes the period of an event: from now on the program runs for one in `period`. */
int counted_period(int event, uint64_t period);
