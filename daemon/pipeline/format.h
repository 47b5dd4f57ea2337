/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a file format is: a table of functions that write cells as lines ended by LF, and that know
 * no stream but by its schema. Each stream of a writer has a state of its own; writer thread only.
 */
#pragma once

#include <stddef.h>

#include "format_csv.h"
#include "format_jsonl.h"
#include "session.h"

union format_state {
	struct format_csv csv;
	struct format_jsonl jsonl;
};

struct format {
	/* How it wants the cells of a row to be filled; it takes all of cells_fill() too. */
	size_t (*fill)(struct cells *cells, const struct row *row, struct cell *cell);
	void (*init)(union format_state *state, enum iotr_stream stream);
	/* Most bytes that the line of this row can take. */
	size_t (*bound)(const struct row *row);
	/*
	 * Writes a line to `out`, which has room for the bound, and returns its length. `cells` is what
	 * filled them.
	 */
	size_t (*row)(union format_state *state, struct cells *cells, struct cell *cell, size_t count,
		      char *out);
	/* What a file begins with, at most FORMAT_CSV_HEADER_MAX bytes; may be nothing. */
	size_t (*header)(enum iotr_stream stream, char *out);
};

extern const struct format formats[IOTR_FORMAT_COUNT];
