// SPDX-License-Identifier: GPL-2.0-or-later
#include "format.h"

static void csv_init(union format_state *state, enum iotr_stream stream)
{
	(void)stream;
	format_csv_init(&state->csv);
}

static size_t csv_row(union format_state *state, struct cells *cells, struct cell *cell, size_t count,
		      char *out)
{
	return format_csv_row(&state->csv, cells, cell, count, out);
}

static void jsonl_init(union format_state *state, enum iotr_stream stream)
{
	format_jsonl_init(&state->jsonl, stream);
}

static size_t jsonl_row(union format_state *state, struct cells *cells, struct cell *cell,
			size_t count, char *out)
{
	(void)cells;
	return format_jsonl_row(&state->jsonl, cell, count, out);
}

static size_t no_header(enum iotr_stream stream, char *out)
{
	(void)stream;
	(void)out;
	return 0;
}

const struct format formats[IOTR_FORMAT_COUNT] = {
	[IOTR_FORMAT_CSV] = { cells_fill_late, csv_init, format_csv_bound, csv_row, format_csv_header },
	[IOTR_FORMAT_JSONL] = { cells_fill, jsonl_init, format_jsonl_bound, jsonl_row, no_header },
};
