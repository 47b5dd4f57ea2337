/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text for people: colour only on a terminal, control characters never. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <wchar.h>

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_GOOD, STYLE_BAD };

/* Returns the escape sequence, or "" if the stream is not a terminal. */
const char *style(FILE *stream, enum style style);

/* The sequence whatever the stream is. */
const char *style_sequence(enum style style);

/* The stream is no terminal, but its text is drawn on one: it gets sequences. NULL: there is none. */
void style_picture(FILE *stream);

/* Formats as "1,234,567". Returns `text`. */
char *format_count(char *text, size_t size, uint64_t count);

/* Writes text with control characters, including U+0080 to U+009F, and bytes that are not valid UTF-8 replaced by '?'. */
void put_text(FILE *stream, const char *text);

/* The same for a whole line, with a line end. */
void put_line(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The character that valid or invalid UTF-8 of that length, at least 1, begins with; 0 where it is none. Returns its bytes.
 * The locale must be one of UTF-8, as main() sets it, for these three.
 */
size_t text_character(const char *text, size_t length, wchar_t *ret);

/* Columns that a terminal shows the character in; -1: it is not to be shown. */
int text_columns(wchar_t character);

/* Columns of the text, with one for each character that is not to be shown. */
int text_width(const char *text);
