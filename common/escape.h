/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes to text that any reader of UTF-8 takes: what is not valid UTF-8, control characters and
 * the backslash become \xNN. Pure functions, usable from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ESCAPE_MAX(length) (4 * (length))

/*
 * Writes at most ESCAPE_MAX(length) bytes without a NUL and returns how many. Sets `*quote` when
 * there is a comma or a quote among them, and leaves it alone otherwise.
 */
size_t escape_text(const char *text, size_t length, char *out, bool *quote);
