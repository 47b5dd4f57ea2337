// SPDX-License-Identifier: GPL-2.0-or-later
#include "format.h"

static void csv_init(union format_state *state, enum iotr_stream stream, struct cells_anonymizer *anonymizer)
{
	format_csv_init(&state->csv, stream, anonymizer);
}

static size_t csv_row(union format_state *state, struct cells *cells, const struct row *row, char *out)
{
	return format_csv_row(&state->csv, cells, row, out);
}

static void jsonl_init(union format_state *state, enum iotr_stream stream, struct cells_anonymizer *anonymizer)
{
	format_jsonl_init(&state->jsonl, stream, anonymizer);
}

static size_t jsonl_row(union format_state *state, struct cells *cells, const struct row *row, char *out)
{
	return format_jsonl_row(&state->jsonl, cells, row, out);
}

static size_t no_header(enum iotr_stream stream, char *out)
{
	(void)stream;
	(void)out;
	return 0;
}

const struct format formats[IOTR_FORMAT_COUNT] = {
	[IOTR_FORMAT_CSV] = { csv_init, format_csv_bound, csv_row, format_csv_header },
	[IOTR_FORMAT_JSONL] = { jsonl_init, format_jsonl_bound, jsonl_row, no_header },
};
