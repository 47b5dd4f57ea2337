/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times as users write them, and as rows have them: YYYY-MM-DD HH:MM:SS.nnnnnnnnn, UTC. Pure functions. */
#pragma once

#include <stdint.h>

#include "trace_rows.h"

enum { TIME_TEXT_SIZE = 32 };

/*
 * Writes the timestamp, or the beginning of one, that is meant by: a timestamp, with a T and a Z if need be, or its
 * beginning; HH:MM, HH:MM:SS, HH:MM:SS.n of the day on which the trace `started`; +DURATION after it started; -DURATION
 * before `now_ns` (since 1970). -EINVAL.
 */
int time_text_parse(const char *text, const char *started, uint64_t now_ns, char ret[TIME_TEXT_SIZE]);

/* Nanoseconds since 1970 of a timestamp of a row. False: it is none. */
bool time_text_ns(struct trace_text timestamp, uint64_t *ns);
