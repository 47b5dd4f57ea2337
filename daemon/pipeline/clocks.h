/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The current time, and the offset of CLOCK_REALTIME from CLOCK_MONOTONIC. The offset is measured once for the
 * whole process, at most each second, and measurements are remembered: an instant of CLOCK_MONOTONIC has the
 * same wall-clock time for every caller, whenever it asks. Usable from any thread.
 */
#pragma once

#include <stdint.h>

struct clocks {
	uint64_t mono_ns;  /* when the clocks were read */
	int64_t offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
};

/* Instants of CLOCK_MONOTONIC, from <= instant < until, whose offset is final. */
struct clocks_span {
	uint64_t from_ns, until_ns;
	int64_t offset_ns;
};

enum { CLOCKS_TEXT_MAX = 40 };

uint64_t clocks_mono_ns(void);
uint64_t clocks_realtime_ns(void);

/* The clocks now; a wall clock that was set is noticed within a second. */
struct clocks clocks_measure(void);

/* The span of a past instant; for one before the first measurement, the first span. */
struct clocks_span clocks_at(uint64_t mono_ns);

/* Whether the span contains this instant. */
static inline int clocks_covers(const struct clocks_span *span, uint64_t mono_ns)
{
	return mono_ns >= span->from_ns && mono_ns < span->until_ns;
}

/* CLOCK_REALTIME - CLOCK_MONOTONIC at an instant; the span is that of the last one asked for, at first all zero. */
static inline int64_t clocks_offset(struct clocks_span *span, uint64_t mono_ns)
{
	if (!clocks_covers(span, mono_ns))
		*span = clocks_at(mono_ns);
	return span->offset_ns;
}

/* Nanoseconds since 1970 as the timestamp column has them: YYYY-MM-DD HH:MM:SS.nnnnnnnnn, UTC. */
char *clocks_format(char text[CLOCKS_TEXT_MAX], uint64_t realtime_ns);
