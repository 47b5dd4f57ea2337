/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long operations take and how they fail, over the whole machine but for iotracer itself, as the kernel counts it in the
 * programs of bpf/timing.bpf.c; no event is transported. For triggers: of vfs the system calls, of block the requests.
 * Nothing is loaded, attached or allocated until it is asked for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"
#include "probes/probes.h"
#include "timing_counts.h"

struct timing;

/*
 * Makes the maps and loads the programs, which takes tenths of a second. Any thread, after probes_new(); `probes` must
 * outlive the result. On failure `why` gets a sentence, and the error is that of the kernel.
 */
int timing_load(struct probes *probes, struct timing **ret, char *why, size_t why_size);

/* Attaches the programs. An error if one of them cannot be, with the hook's name in `why`. Main thread, as all that follow. */
int timing_attach(struct timing *timing, char *why, size_t why_size);

/* Detaches and frees; takes NULL. */
void timing_free(struct timing *timing);

/* An operation that is watched: of the streams IOTR_VFS and IOTR_BLOCK. */
struct timing_operation {
	enum iotr_stream stream;
	unsigned int operation;
};

/*
 * Has these operations counted from now on, each under its index, and no others: at most IOTR_TIMING_WATCHES. The counts of an
 * index go on from where they were. 0 or a negative errno.
 */
int timing_watch(struct timing *timing, const struct timing_operation *operations, size_t count);

/* The counts of a watch over all CPUs; those of 32 bits wrap around. 0 or a negative errno. */
int timing_read(struct timing *timing, size_t watch, struct iotr_timing *ret);
