/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One row of JSON lines. Pure function, usable from any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "trace_rows.h"

/*
 * Splits the object between `at` and `end` into the values of these columns, in their order; texts are unescaped in
 * place. False: it is not such an object.
 */
bool trace_row_json(char *at, char *end, const struct trace_text *names, size_t columns, struct trace_text *cells);
