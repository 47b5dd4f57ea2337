/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file format: a table of functions that write cells as lines that end in LF, and know of a
 * stream only its schema. Each stream of a writer has a state of its own; writer thread only.
 */
#pragma once

#include <stddef.h>

#include "format_csv.h"
#include "format_jsonl.h"
#include "session_spec.h"

union format_state {
	struct format_csv csv;
	struct format_jsonl jsonl;
};

struct format {
	/* Fills the cells of a row as the format prefers; row() takes those of cells_fill() too. */
	size_t (*fill)(struct cells *cells, const struct row *row, struct cell *cell);
	void (*init)(union format_state *state, enum iotr_stream stream);
	/* The most bytes that the line of this row can take. */
	size_t (*bound)(const struct row *row);
	/*
	 * Writes a line to `out`, which has room for the bound, and returns its length. `cells` is the object
	 * that filled the cells.
	 */
	size_t (*row)(union format_state *state, struct cells *cells, struct cell *cell, size_t count,
		      char *out);
	/* Writes the header of a file, at most FORMAT_CSV_HEADER_MAX bytes; may write nothing. */
	size_t (*header)(enum iotr_stream stream, char *out);
};

extern const struct format formats[IOTR_FORMAT_COUNT];
