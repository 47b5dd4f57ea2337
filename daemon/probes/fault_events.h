/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf events at the ends of page faults, of which each CPU has its own. They go with their CPU, so a CPU that comes again gets
 * new ones: the BPF programs mark it in the control page, and probes_follow_cpus() sees to it. Main thread.
 */
#pragma once

#include "probes/probes_private.h"

struct fault_event {
	int fd;
	int cpu;
};

/* Attaches a program of PROBES_PAGEFAULT to its event, by number, on all CPUs that are online, or on none. */
int fault_events_attach(struct probes *probes, const struct bpf_program *program, uint64_t number);

/* Closes all events. */
void fault_events_close(struct probes *probes);

/*
 * Sets the period of the perf events of page faults, now and for every later attachment. Returns the period
 * that is in effect, which is 1 if the kernel refuses.
 */
uint64_t probes_fault_period(struct probes *probes, uint64_t period);
