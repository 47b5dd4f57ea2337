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
 * The same for a cell of a table: commas and quotes become \xNN, too. So no field of the CSV has to be quoted, and who
 * reads it need not find out from its first rows whether fields are.
 */
size_t escape_cell(const char *text, size_t length, char *out);

/*
 * Undoes it for the character or the escape that such a text begins with; its length is at least 1. Returns how many bytes
 * of the text `byte` stands for: 4 of an escape, else 1, of whatever byte.
 */
size_t escape_undo(const char *text, size_t length, unsigned char *byte);
