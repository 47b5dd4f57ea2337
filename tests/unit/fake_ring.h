/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings of the fake probe set: one of names, which stays empty, and one of rows, which a test fills, or which
 * fills itself. A row is for every session that is open in the fake probe set and has its stream.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probes/probes.h"
#include "session_spec.h"

enum { FAKE_RING_NAMES, FAKE_RING_ROWS }; /* stand in for the descriptors of the rings */

/* What the kernel does while sessions run. Set before any runs. */
struct fake_ring {
	uint64_t interval_ns; /* of rows that come by themselves, of every operation of every stream; 0: none do */
	struct iotr_operations silent[IOTR_STREAM_COUNT]; /* no row of these comes by itself */
	unsigned int loses;				  /* for one row of so many there is no room; 0: for all there is */
};

extern struct fake_ring fake_ring;

/* Empties the ring and clears the counts; no rows come by themselves. */
void fake_ring_reset(void);

/* Rows of vfs, of reads that end now. Main thread. */
void fake_ring_fill(unsigned int count);

/* The counts of the slot so far, as probes_loss() returns them. Any thread. */
void fake_ring_loss(enum iotr_stream stream, unsigned int session, struct probes_loss *ret);
