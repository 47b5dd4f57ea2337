/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs on what the kernel counts: software events of perf, one for each CPU. */
#pragma once

#include <bpf/libbpf.h>
#include <stdint.h>

/* PERF_COUNT_SW_* of a program on a software event, as its name says; -ENOENT for all others. */
int counted_number(const struct bpf_program *program, uint64_t *number);

/*
 * Attaches it on one CPU, to run for one in `period` of the events. `event` is for counted_period(), and to
 * be closed. -ENODEV: the CPU is not there; -EACCES, -EPERM: not allowed.
 */
int counted_attach(const struct bpf_program *program, uint64_t number, int cpu, uint64_t period, int *event,
		   struct bpf_link **ret);

/* From now on it runs for one in so many. */
int counted_period(int event, uint64_t period);
