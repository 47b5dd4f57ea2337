/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows as RFC 4180 lines that end in LF. No field holds a line break: control characters come
 * escaped. One object per stream and writer thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cells/cells.h"
#include "cells/csv.h"
#include "row.h"

enum {
	FORMAT_CSV_HEADER_MAX = 4096,
};

/* With an anonymizer, which it does not own, rows are written with hashes for names. */
void format_csv_init(struct csv *csv, enum iotr_stream stream, struct cells_anonymizer *anonymizer);

/* The most bytes that the line of this row can take. */
size_t format_csv_bound(const struct row *row, bool anonymized);

/*
 * Writes the line of a row to `out`, which has room for the bound, and returns its length: the same as
 * format_csv_cells() writes of the cells of that row, but sooner.
 */
size_t format_csv_row(struct csv *csv, struct cells *cells, const struct row *row, char *out);

/* Writes cells, whose names are not yet hashed, as a line. */
size_t format_csv_cells(struct csv *csv, const struct cell *cell, size_t count, char *out);

/* The header line of a stream, without a NUL; at most FORMAT_CSV_HEADER_MAX bytes. */
size_t format_csv_header(enum iotr_stream stream, char *out);
