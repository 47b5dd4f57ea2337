// SPDX-License-Identifier: GPL-2.0-or-later
#include "format_csv.h"

#include <string.h>

/* The loop over the columns is the hottest code: rare cases are kept out of it. */
#define INLINE	 __attribute__((always_inline)) static inline
#define NOINLINE __attribute__((noinline))

#define CELL_SIZE_MAX 40 /* bytes of a cell that is not text, with its comma */
#define FIXED_MAX     (CELLS_MAX * CELL_SIZE_MAX + 3 * FLAGS_TEXT_MAX + 512)

void format_csv_init(struct format_csv *csv)
{
	memset(csv, 0, sizeof(*csv));
	csv->date.second_ns = UINT64_MAX;
}

size_t format_csv_bound(const struct row *row)
{
	return FIXED_MAX + 2 * ((size_t)row->path.length + row->path2.length);
}

static char *write_quoted(char *out, const char *text, size_t length)
{
	*out++ = '"';
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '"')
			*out++ = '"';
		*out++ = text[i];
	}
	*out++ = '"';
	return out;
}

static char *write_text(char *out, const struct cell *cell)
{
	if (cell->quote)
		return write_quoted(out, cell->text, cell->length);
	return mempcpy(out, cell->text, cell->length);
}

NOINLINE static char *write_number(char *out, const struct cell *cell)
{
	return format_number(out, cell);
}

/* Copies the digits of the column's last number when it is the same, which saves multiplications. */
static inline char *write_steady(struct format_csv_number *kept, char *out, const struct cell *cell)
{
	if (kept->number != cell->number || !kept->length) {
		char text[64];

		kept->number = cell->number;
		kept->length = (uint8_t)(write_number(text, cell) - text);
		memcpy(kept->text, text, sizeof(kept->text));
	}
	memcpy(out, kept->text, sizeof(kept->text));
	return out + kept->length;
}

INLINE char *write_cell(struct format_csv *csv, char *out, const struct cell *cell, size_t column)
{
	if (cell->kind == CELL_EMPTY)
		return out;
	if (cell->kind == CELL_TEXT)
		return write_text(out, cell);
	if (cell->steady)
		return write_steady(&csv->numbers[column], out, cell);
	if (cell->kind == CELL_U64)
		return digits_u64(out, cell->number);
	if (cell->kind == CELL_TIME)
		return format_time(&csv->date, out, cell->number);
	if (cell->kind == CELL_MONO)
		return format_mono(&csv->mono, out, cell->number);
	return write_number(out, cell);
}

/* Writes the columns of a span, and keeps what it wrote when that is short. */
NOINLINE static char *write_new_span(struct format_csv *csv, struct cells *cells, char *out,
				     struct cell *cell, size_t column)
{
	const struct cell late = cell[column];
	struct format_csv_span *span = &csv->spans[late.id % CELLS_PLACES];
	char *at = out;

	cells_fill_span(cells, cell, column);
	for (size_t i = column; i < column + late.span; i++) {
		at = write_cell(csv, at, &cell[i], i);
		*at++ = ',';
	}
	span->id = 0;
	if ((size_t)(at - out) > sizeof(span->text))
		return at;
	span->id = late.id;
	span->length = (uint8_t)(at - out);
	memcpy(span->text, out, span->length);
	return at;
}

INLINE char *write_span(struct format_csv *csv, struct cells *cells, char *out, struct cell *cell,
			size_t column)
{
	const struct format_csv_span *span = &csv->spans[cell[column].id % CELLS_PLACES];

	if (span->id != cell[column].id)
		return write_new_span(csv, cells, out, cell, column);
	memcpy(out, span->text, sizeof(span->text));
	return out + span->length;
}

size_t format_csv_row(struct format_csv *csv, struct cells *cells, struct cell *cell, size_t count,
		      char *out)
{
	char *at = out;

	for (size_t i = 0; i < count;) {
		if (cell[i].kind == CELL_LATE) {
			uint8_t span = cell[i].span; /* a copy, as write_span() may fill the cell */

			at = write_span(csv, cells, at, cell, i);
			i += span;
			continue;
		}
		at = write_cell(csv, at, &cell[i], i);
		*at++ = ',';
		i++;
	}
	at[-1] = '\n';
	return (size_t)(at - out);
}

size_t format_csv_header(enum iotr_stream stream, char *out)
{
	const struct iotr_schema *schema = &iotr_schemas[stream];
	char *at = out;

	for (size_t i = 0; i < schema->column_count; i++) {
		at = stpcpy(at, schema->columns[i].name);
		*at++ = ',';
	}
	at[-1] = '\n';
	return (size_t)(at - out);
}
