/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs on software perf events, one event for each CPU. */
#pragma once

#include <bpf/libbpf.h>
#include <stdint.h>

/* PERF_COUNT_SW_* for a program on a software perf event, by its name; -ENOENT for all other programs. */
int counted_number(const struct bpf_program *program, uint64_t *number);

/*
 * Attaches a program, given by its descriptor, on one CPU, to run for one in `period` events. Returns a descriptor of the
 * event, for counted_period(); the program is attached until the last such descriptor is closed. -ENODEV: the CPU is not online;
 * -EACCES, -EPERM: not allowed.
 */
int counted_attach(int program, uint64_t number, int cpu, uint64_t period);

/* Changes the period of an event: from now on the program runs for one in `period`. */
int counted_period(int event, uint64_t period);
