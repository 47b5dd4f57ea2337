/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a thread of the data plane moves: what was seen of it at the last look. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct vitals {
	uint64_t turns;	   /* then */
	uint64_t since_ns; /* CLOCK_MONOTONIC: it has not gone round since, although it had to; 0: it has */
};

/* A look: returns for how many ns it has stood still. `has_to`: there is something for it to do. */
static inline uint64_t vitals_look(struct vitals *vitals, bool has_to, uint64_t turns, uint64_t now_ns)
{
	if (!has_to || turns != vitals->turns)
		vitals->since_ns = 0;
	else if (!vitals->since_ns)
		vitals->since_ns = now_ns;
	vitals->turns = turns;
	return vitals->since_ns ? now_ns - vitals->since_ns : 0;
}
