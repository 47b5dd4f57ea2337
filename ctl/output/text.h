/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text for people: colour only on a terminal, control characters never. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_GOOD, STYLE_BAD };

/* Returns the escape sequence, or "" if the stream is not a terminal. */
const char *style(FILE *stream, enum style style);

/* Formats as "1,234,567". Returns `text`. */
char *format_count(char *text, size_t size, uint64_t count);

/* Writes text with control characters, including U+0080 to U+009F, and bytes that are not valid UTF-8 replaced by '?'. */
void put_text(FILE *stream, const char *text);

/* The same for a whole line, with a line end. */
void put_line(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A live view: on a terminal each picture is written at once and replaces the one before. */
void pictures_begin(void);
void picture_next(void);
