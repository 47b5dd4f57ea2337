/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of rows for formats whose texts are UTF-8. Pure function. */
#pragma once

#include <stddef.h>

#include "trace_rows.h"

enum { EXPORT_TEXT_MAX = 8192 }; /* bytes that are passed on; two paths joined have room */

/*
 * Copies the text, in which rows have bytes as escapes that these formats need not: as it was before, with \xNN for each byte that is
 * not valid UTF-8 or a control character; of one that is too long its begin. Ends it with a NUL. Returns its length.
 */
size_t export_text(struct trace_text text, char ret[EXPORT_TEXT_MAX + 1]);

/* The same of at most `most` bytes. */
size_t export_text_short(struct trace_text text, size_t most, char ret[EXPORT_TEXT_MAX + 1]);
