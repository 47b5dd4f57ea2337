/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings of all processes, and the CPU shares that follow from them: the CPU time that a process
 * used since a reading of about a window ago. Any thread, one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sampler.h"

/* Processes in the order of pids. Zeroed: none. */
struct readings_tasks {
	struct sampled_task *tasks;
	size_t count, capacity;
	/* Called for every thread while they are read, first threads included; NULL: nobody asks. */
	void (*each)(const struct iotr_task_head *thread, void *userdata);
	void *userdata;
};

/* Reads what the iterator tells; threads are added to their processes. */
int readings_tasks_read(int fd, struct readings_tasks *tasks);
void readings_tasks_done(struct readings_tasks *tasks);

struct readings;

int readings_new(struct readings **ret);
void readings_free(struct readings *readings); /* takes NULL */
void readings_forget(struct readings *readings);

/* Keeps a reading made at that time, CLOCK_MONOTONIC, as far as some window needs it. */
int readings_add(struct readings *readings, const struct readings_tasks *tasks, uint64_t now_ns);

/* Fills in the shares up to now. */
void readings_shares(const struct readings *readings, struct readings_tasks *tasks, uint64_t now_ns);
