// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A segment of any bytes: read as rows, as summary and show do, and scanned, as verify does. The first byte of an input
 * chooses stream, format and compression.
 */
#include "fuzz.h"
#include "input_file.h"
#include "reading/facts.h"
#include "schema.h"
#include "trace_read.h"

enum { JSON_BIT = 0x40, GZIP_BIT = 0x80 };

struct segment {
	const char *name;
	enum iotr_stream stream;
	enum iotr_format format;
	const char *names[TRACE_CELLS_MAX];
	size_t count;
};

static void take_columns(struct segment *segment)
{
	const struct iotr_schema *schema = &iotr_schemas[segment->stream];

	segment->count = schema->column_count;
	for (size_t i = 0; i < segment->count; i++)
		segment->names[i] = schema->columns[i].name;
}

static void look_at_row(const struct facts_columns *columns, const struct trace_rows *rows)
{
	struct trace_text address, port;
	struct facts facts;

	facts_read(columns, rows, &facts);
	facts_peer(columns, rows, &address, &port);
	for (size_t i = 0; i < rows->columns; i++) /* each byte of a cell is there */
		ck_assert(!rows->cells[i].length || memchr(rows->cells[i].at, rows->cells[i].at[rows->cells[i].length - 1],
							   rows->cells[i].length));
}

static void read_rows(const struct segment *segment)
{
	struct facts_columns columns;
	struct trace_rows rows;
	uint64_t seen = 0;

	if (!trace_rows_open(&rows, input_folder()->fd, segment->name, segment->format, segment->names, segment->count)) {
		facts_columns_find(&columns, segment->stream, &rows);
		for (; trace_rows_next(&rows) == 1; seen++)
			look_at_row(&columns, &rows);
		ck_assert_uint_eq(rows.rows, seen);
	}
	trace_rows_close(&rows);
}

static void scan(const struct segment *segment)
{
	const struct iotr_schema *schema = &iotr_schemas[segment->stream];
	struct trace_read read = { .wants_sha256 = true, .wants_stored_sha256 = true };
	struct trace_columns columns = { .names = segment->names, .count = segment->count };
	struct trace_scan result;
	char header[4096] = "";

	for (size_t i = 0; i < schema->column_count; i++)
		columns.header_size += (size_t)snprintf(header + columns.header_size, sizeof(header) - columns.header_size, "%s%c",
							segment->names[i], i + 1 < schema->column_count ? ',' : '\n');
	columns.header = header;
	ck_assert_int_eq(trace_scan_init(&result, segment->format, &columns), 0);
	trace_read(input_folder()->fd, segment->name, &result, &read);
	ck_assert_uint_le(result.bad_rows, result.rows);
	ck_assert_uint_le(result.bytes, read.bytes);
	trace_scan_done(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct segment segment = { .format = IOTR_FORMAT_CSV };

	if (!size)
		return 0;
	segment.stream = (enum iotr_stream)((*data & ~(JSON_BIT | GZIP_BIT)) % IOTR_STREAM_COUNT);
	segment.name = *data & GZIP_BIT ? "rows.gz" : "rows";
	if (*data & JSON_BIT)
		segment.format = IOTR_FORMAT_JSONL;
	take_columns(&segment);
	input_put(segment.name, data + 1, size - 1);
	read_rows(&segment);
	scan(&segment);
	return 0;
}
