/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What time it is, and how far CLOCK_REALTIME is from CLOCK_MONOTONIC. Usable from any thread. */
#pragma once

#include <stdint.h>

struct clocks {
	uint64_t mono_ns;  /* when it was measured */
	int64_t offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
};

enum { CLOCKS_TEXT_MAX = 40 };

uint64_t clocks_mono_ns(void);
uint64_t clocks_realtime_ns(void);

/* The best of a few measurements: exact to some tens of nanoseconds. */
struct clocks clocks_measure(void);

/* Nanoseconds since 1970 as the timestamp column has them: YYYY-MM-DD HH:MM:SS.nnnnnnnnn, UTC. */
char *clocks_format(char text[CLOCKS_TEXT_MAX], uint64_t realtime_ns);
