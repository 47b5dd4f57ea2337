/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU shares of processes in the background: while it runs, all processes are read every 2.5 s
 * through a BPF task iterator (1 ms for 1000 of them), and of each reading pid, start and CPU time
 * are kept as long as some window needs them: 50 readings of 16 bytes a process.
 *
 * Main thread only. It lives on the event loop it was given.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "tasks.h"

enum {
	SAMPLER_WINDOWS = 3, /* 5 s, 2 min, 1 h */
};

/* A process. `cpu_ns` of its head is that of all its threads, those that ended included. */
struct sampled_task {
	struct iotr_task task;
	/*
	 * Hundredths of a percent of one CPU; -1: unknown, as the process is younger than the
	 * window, or the sampler has not run that long.
	 */
	int64_t share[SAMPLER_WINDOWS];
};

struct sampler;

/* Loads the iterator. An error is that of the kernel, which refuses it. */
int sampler_new(sd_event *event, struct sampler **ret);
void sampler_free(struct sampler *sampler); /* takes NULL */

/* Sets whether it reads in the background. What it knew is forgotten when it stops. */
void sampler_run(struct sampler *sampler, bool run);

/* Calls `each` for each process as it is now. */
int sampler_each(struct sampler *sampler, void (*each)(const struct iotr_task *task, void *userdata),
		 void *userdata);

/* Calls `each` for each thread as it is now. */
int sampler_each_thread(struct sampler *sampler, void (*each)(const struct iotr_task_head *thread, void *userdata),
			void *userdata);

/* Writes all processes as they are now to a file, one struct sampled_task after the other; returns its descriptor. */
int sampler_take(struct sampler *sampler);
