/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU time that the BPF programs use, from the kernel's statistics. These cost some tens of nanoseconds for
 * each run of each program, and switching them interrupts all CPUs for a moment, so they are enabled for a
 * tenth of a second in every ten seconds, and only while somebody records. Main thread.
 */
#pragma once

#include <json-c/json.h>
#include <systemd/sd-event.h>

#include "probes/hookset.h"

struct bpf_cost;

/* Both must live as long as it. */
int bpf_cost_new(struct probes *probes, const struct hookset *hookset, sd_event *event, struct bpf_cost **ret);
void bpf_cost_free(struct bpf_cost *cost); /* takes NULL */

/* Measures from now on, as long as any hooks are wished for. */
void bpf_cost_run(struct bpf_cost *cost);

/* New object with the last window: {ns_per_s, runs_per_s, ns_per_run, window_ns, age_ns}, or {reason}. */
struct json_object *bpf_cost_describe(const struct bpf_cost *cost);
