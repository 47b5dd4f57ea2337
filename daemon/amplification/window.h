/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was counted between two moments: the counts of each account since the window began. Processes that have ended stay
 * in it; of very many, those of the same system, unit and container are one. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "amplification/process.h"
#include "layer_counts.h"

enum { WINDOW_ENDED_MAX = 2048 }; /* accounts of ended processes that are kept apart */

struct counts {
	struct iotr_layer_sum sums[IOTR_LAYER_COUNT];
	uint64_t latency_ns[IOTR_LAYER_TIMED]; /* sum of the latencies that are in the histogram */
	uint64_t latency[IOTR_LAYER_TIMED][IOTR_LAYER_BUCKETS];
};

void counts_add(struct counts *to, const struct counts *counts);

struct window;

int window_new(struct processes *processes, struct window **ret);
void window_free(struct window *window); /* takes NULL */

/*
 * The account has counted so much by now. `last`: its process has ended, and nothing more will come. What is told before
 * window_begin() is what had been counted before.
 */
void window_add(struct window *window, const struct iotr_layer_key *key, const struct process *process,
		const struct counts *counts, bool last);
void window_begin(struct window *window);

/* To be called now and then, after processes_settle(): makes one of very many accounts of ended processes. */
void window_tidy(struct window *window);

/* Counts for which there was no memory are missing in it. */
bool window_whole(const struct window *window);

/* Calls it for each account that has counted something since the window began. Device: as in struct iotr_layer_key. */
typedef void (*window_handler)(const struct process *process, uint32_t device, const struct counts *counts,
			       void *userdata);
void window_each(const struct window *window, window_handler handler, void *userdata);
