/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows as lines of CSV with their names in the clear, made once for several sessions: the same lines as each of their
 * writers would write. One thread.
 */
#pragma once

#include <stddef.h>

#include "row.h"

struct lines;

int lines_new(struct lines **ret); /* -ENOMEM */
void lines_free(struct lines *lines); /* takes NULL */

/* The most bytes that the line of this row can take. */
size_t lines_bound(const struct row *row);

/* Writes the line to `out` and returns its length; 0: there is no memory. */
size_t lines_write(struct lines *lines, const struct row *row, char *out);
