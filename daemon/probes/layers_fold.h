/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the CPUs have counted on an account by layer, added up. Any thread. */
#pragma once

#include "probes/layers.h"

/* What is kept of an account between two readings. */
struct kept {
	struct layers_account account;
	uint32_t latency[IOTR_LAYER_TIMED][IOTR_LAYER_BUCKETS]; /* as the kernel had it: the sum of all CPUs, modulo 2^32 */
	bool leaving; /* no program finds it by its key any more; at the next reading it is free */
};

/* Sets the account's sums to those of all CPUs, and adds to its histograms what has come since the last time. */
void counts_fold(struct kept *kept, const struct iotr_layer_counts *counts, int cpus);
