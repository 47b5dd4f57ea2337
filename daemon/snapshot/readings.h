/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings of all processes, and what they tell of CPU shares: how much CPU time a process had
 * more than in a reading of about a window ago. Any thread, one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sampler.h"

/* Processes by their numbers. Zeroed: none. */
struct readings_tasks {
	struct sampled_task *tasks;
	size_t count, capacity;
};

/* What the iterator tells, threads added to their processes. */
int readings_tasks_read(int fd, struct readings_tasks *tasks);
void readings_tasks_done(struct readings_tasks *tasks);

struct readings;

int readings_new(struct readings **ret);
void readings_free(struct readings *readings); /* takes NULL */
void readings_forget(struct readings *readings);

/* Keeps what is needed of a reading made at that time, CLOCK_MONOTONIC. */
int readings_add(struct readings *readings, const struct readings_tasks *tasks, uint64_t now_ns);

/* Fills in the shares up to now. */
void readings_shares(const struct readings *readings, struct readings_tasks *tasks, uint64_t now_ns);
