/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cells of a CSV row, as the rows of the streams have them. Each function writes at `out`, without
 * a NUL, and returns the end; DIGITS_SLACK bytes after it may be overwritten. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "digits.h"
#include "escape.h"

enum {
	TEXT_TIME_SIZE = CLOCK_DATE_SIZE + 9,
};

/* The most bytes of a text cell. */
#define TEXT_CELL_MAX(length) (ESCAPE_MAX(length) + 2)

/* The text of the last second, copied when that is asked for again. Zeroed: none. */
struct text_clock {
	int64_t second;
	char text[CLOCK_DATE_SIZE + DIGITS_SLACK];
};

char *text_time(struct text_clock *clock, char *out, int64_t second, uint32_t nanosecond);

/* Writes the text escaped: see escape_field(). */
char *text_cell(char *out, const char *text, size_t length);

/* The same for a command line: see escape_words(). */
char *text_words(char *out, const char *text, size_t length);

/* "major:minor", as of a row. */
char *text_device(char *out, uint32_t major, uint32_t minor);
