/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a clock, and formats a date. Usable from any thread. */
#pragma once

#include <stdint.h>
#include <time.h>

#include "digits.h"

enum {
	CLOCK_DATE_SIZE = sizeof("YYYY-MM-DD HH:MM:SS.") - 1,
};

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Formats a second since 1970 as the timestamp columns have it, in UTC: CLOCK_DATE_SIZE bytes, the last of
 * which is the dot before the fraction. Up to DIGITS_SLACK bytes after that may be overwritten. Returns the
 * end.
 */
static inline char *clock_date(char *out, int64_t second)
{
	time_t when = (time_t)second;
	struct tm date = { 0 };

	gmtime_r(&when, &date);
	out = digits_padded(out, (uint32_t)(date.tm_year + 1900) % 10000, 4);
	*out++ = '-';
	out = digits_padded(out, (uint32_t)date.tm_mon + 1, 2);
	*out++ = '-';
	out = digits_padded(out, (uint32_t)date.tm_mday, 2);
	*out++ = ' ';
	out = digits_padded(out, (uint32_t)date.tm_hour, 2);
	*out++ = ':';
	out = digits_padded(out, (uint32_t)date.tm_min, 2);
	*out++ = ':';
	out = digits_padded(out, (uint32_t)date.tm_sec, 2);
	*out++ = '.';
	return out;
}
