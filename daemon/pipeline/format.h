/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file format: a table of functions that write rows as lines that end in LF. Of a stream they know the schema
 * and the cells of a row. Each stream of a writer has a state of its own; writer thread only.
 */
#pragma once

#include <stddef.h>

#include "format_csv.h"
#include "format_jsonl.h"
#include "session_spec.h"

union format_state {
	struct csv csv;
	struct format_jsonl jsonl;
};

struct format {
	/* With an anonymizer, which outlives the state, rows have hashes for names. */
	void (*init)(union format_state *state, enum iotr_stream stream, struct cells_anonymizer *anonymizer);
	/* The most bytes that the line of this row can take. */
	size_t (*bound)(const struct row *row, bool anonymized);
	/*
	 * Writes a line to `out`, which has room for the bound, and returns its length. The row is of the state's
	 * stream; `cells` is the writer's.
	 */
	size_t (*row)(union format_state *state, struct cells *cells, const struct row *row, char *out);
	/* Writes the header of a file, at most FORMAT_CSV_HEADER_MAX bytes; may write nothing. */
	size_t (*header)(enum iotr_stream stream, char *out);
};

extern const struct format formats[IOTR_FORMAT_COUNT];
