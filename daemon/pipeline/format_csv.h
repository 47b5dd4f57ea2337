/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cells as RFC 4180 lines that end in LF. No field holds a line break: control characters come
 * escaped. One object per stream and writer thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cells/cells.h"
#include "format_values.h"
#include "row.h"

enum {
	FORMAT_CSV_HEADER_MAX = 4096,
};

/* The digits of a column's last number. */
struct format_csv_number {
	uint64_t number;
	char text[23];
	uint8_t length; /* 0: free */
};

/* The text of several columns, with a comma after each. */
struct format_csv_span {
	uint64_t id; /* 0: free */
	char text[79];
	uint8_t length;
};

struct format_csv {
	struct format_date date;
	struct format_mono mono;
	struct format_csv_number numbers[CELLS_MAX];
	struct format_csv_span spans[CELLS_PLACES];
};

void format_csv_init(struct format_csv *csv);

/* The most bytes that the line of this row can take. */
size_t format_csv_bound(const struct row *row);

/*
 * Writes a line to `out`, which has room for the bound, and returns its length. The cells may be those of
 * cells_fill_late(), and are filled as needed; `cells` is the object that filled them.
 */
size_t format_csv_row(struct format_csv *csv, struct cells *cells, struct cell *cell, size_t count,
		      char *out);

/* The header line of a stream, without a NUL; at most FORMAT_CSV_HEADER_MAX bytes. */
size_t format_csv_header(enum iotr_stream stream, char *out);
