/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts bytes to valid UTF-8 text: invalid sequences, control characters and the backslash become \xNN. So
 * does the last byte of " ->" in a name, so that names joined by " -> " can be separated unambiguously. Pure
 * functions, usable from any thread.
 */
#pragma once

#include <stddef.h>

#define ESCAPE_MAX(length) (4 * (length))

/* Length in bytes of the first character; 0: it is not valid UTF-8, or an ASCII control character. */
size_t escape_character(const char *text, size_t length);

/* Writes at most ESCAPE_MAX(length) bytes without a NUL and returns how many. */
size_t escape_text(const char *text, size_t length, char *out);

/*
 * The same for part of a cell of a table, as a component of a path is: commas, semicolons, bars and quotes become \xNN,
 * too, and so does a space at the end of a name. So no field of the CSV has to be quoted, and who reads it need not find
 * out from its first rows whether fields are.
 */
size_t escape_cell(const char *text, size_t length, char *out);

/*
 * The same for a whole cell, or for its beginning. Of a text that would be taken for a number, a date, a time, a truth
 * value or for nothing by who guesses the types of columns, the first byte is \xNN, as it is of those that begin with '#',
 * a space or an apostrophe. So what begins with '#' is a number in a column of texts, which no user made.
 */
size_t escape_field(const char *text, size_t length, char *out);

/* The same for a command line, in which a space before a slash ends no name. */
size_t escape_words(const char *text, size_t length, char *out);

/*
 * Undoes it for the character or the escape that such a text begins with; its length is at least 1. Returns how many bytes
 * of the text `byte` stands for: 4 of an escape, else 1, of whatever byte.
 */
size_t escape_undo(const char *text, size_t length, unsigned char *byte);

/*
 * JSON is UTF-8, but strings that came from users may hold any byte. These make the text of a document valid without
 * looking at its strings one by one: a byte that is no part of a character becomes \\xNN, which a parser reads as \xNN.
 * escape_json() writes as many bytes as it gets, and as many more as escape_json_more() tells; 0: the text is valid.
 */
size_t escape_json_more(const char *text, size_t length);
void escape_json(const char *text, size_t length, char *out);

/*
 * The same into memory of its own: `*ret` is a valid copy, to be freed, whose length is put into `*length`, or NULL where the
 * text is valid itself. Returns 0 or -ENOMEM.
 */
int escape_json_copy(const char *text, size_t *length, char **ret);
