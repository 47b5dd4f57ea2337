/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long operations took and how they failed since the last look, for triggers: keeps the programs of probes/timing.h
 * loaded while an operation is wanted, and takes the differences of their counts. Main thread.
 */
#pragma once

#include "errand.h"
#include "probes/timing.h"

struct timings;

int timings_new(struct errands *errands, struct probes *probes, struct timings **ret); /* -ENOMEM */
void timings_free(struct timings *timings); /* takes NULL; what still loads is abandoned */

/*
 * Wants these operations from now on, each once, and no others; those beyond IOTR_TIMING_WATCHES are not watched. Loads the
 * programs for the first ones, which takes some seconds on old kernels, and unloads them after the last.
 */
void timings_want(struct timings *timings, const struct timing_operation *operations, size_t count);

/* Reads the counts: what timings_of() tells is of the time since the call before. */
void timings_take(struct timings *timings);

/* Of one operation; NULL: not known yet, or not watched. Valid until the next call of another function. */
const struct iotr_timing *timings_of(const struct timings *timings, const struct timing_operation *operation);

/* Why nothing is known; "": it is, or will soon be. */
const char *timings_error(const struct timings *timings);

/*
 * A latency in ns from the histogram of what took the longest: at least so many of a thousand operations took less or as
 * long, 1000 for the longest. It is rounded down, by an eighth at most, so that what is above a line was above it. 0: there was
 * no operation.
 */
uint64_t timing_quantile(const struct iotr_timing *timing, unsigned int permille);
