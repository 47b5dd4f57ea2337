// SPDX-License-Identifier: GPL-2.0-or-later
#include "format_csv.h"

#include <string.h>
#include <time.h>

/* The loop over the columns is the hottest of all: what is rare stays out of it. */
#define INLINE	 __attribute__((always_inline)) static inline
#define NOINLINE __attribute__((noinline))

#define SECOND_NS     1000000000
#define CELL_SIZE_MAX 40 /* bytes of a cell that is no text, with its comma */
#define FIXED_MAX     (CELLS_MAX * CELL_SIZE_MAX + 3 * FLAGS_TEXT_MAX + 512)

void format_csv_init(struct format_csv *csv)
{
	memset(csv, 0, sizeof(*csv));
	csv->second_ns = UINT64_MAX;
}

size_t format_csv_bound(const struct row *row)
{
	return FIXED_MAX + 2 * ((size_t)row->path.length + row->path2.length);
}

static char *write_date(char *out, const struct tm *date)
{
	out = digits_padded(out, (uint32_t)(date->tm_year + 1900) % 10000, 4);
	*out++ = '-';
	out = digits_padded(out, (uint32_t)date->tm_mon + 1, 2);
	*out++ = '-';
	out = digits_padded(out, (uint32_t)date->tm_mday, 2);
	*out++ = ' ';
	out = digits_padded(out, (uint32_t)date->tm_hour, 2);
	*out++ = ':';
	out = digits_padded(out, (uint32_t)date->tm_min, 2);
	*out++ = ':';
	out = digits_padded(out, (uint32_t)date->tm_sec, 2);
	*out++ = '.';
	return out;
}

static void set_second(struct format_csv *csv, uint64_t ns)
{
	time_t second = (time_t)(ns / SECOND_NS);
	struct tm date;

	gmtime_r(&second, &date);
	write_date(csv->date, &date);
	csv->second_ns = ns - ns % SECOND_NS;
}

static char *write_time(struct format_csv *csv, char *out, uint64_t ns)
{
	uint32_t fraction;

	if (ns - csv->second_ns >= SECOND_NS)
		set_second(csv, ns);
	fraction = (uint32_t)(ns - csv->second_ns);
	memcpy(out, csv->date, FORMAT_CSV_DATE_SIZE);
	out += FORMAT_CSV_DATE_SIZE;
	*out++ = (char)('0' + fraction / 100000000);
	return digits_8(out, fraction % 100000000);
}

static char *write_ms(char *out, uint64_t ns)
{
	out = digits_u64(out, ns / 1000000);
	*out++ = '.';
	return digits_padded(out, (uint32_t)(ns % 1000000), 6);
}

static char *write_device(char *out, uint64_t device)
{
	out = digits_u64(out, device >> 20);
	*out++ = ':';
	return digits_u64(out, device & 0xfffff);
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
	switch (cell->kind) {
	case CELL_U64:
		return digits_u64(out, cell->number);
	case CELL_S64:
		return digits_s64(out, (int64_t)cell->number);
	case CELL_HEX:
		return digits_hex(out, cell->number);
	case CELL_MS:
		return write_ms(out, cell->number);
	case CELL_DEVICE:
		return write_device(out, cell->number);
	default:
		return out;
	}
}

/* By way of the digits that were kept: a copy instead of multiplications. */
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
		return write_time(csv, out, cell->number);
	return write_number(out, cell);
}

/* Writes the columns of a span, and keeps what it wrote when that is short. */
NOINLINE static char *write_new_span(struct format_csv *csv, struct format_csv_span *span,
				     char *out, const struct cell *cell, size_t column)
{
	uint32_t id = cell->id;
	char *at = out;

	for (size_t i = 0; i < cell->span; i++) {
		at = write_cell(csv, at, &cell[i], column + i);
		*at++ = ',';
	}
	if ((size_t)(at - out) > sizeof(span->text))
		return at;
	span->id = id;
	span->column = (uint8_t)column;
	span->length = (uint8_t)(at - out);
	memcpy(span->text, out, span->length);
	return at;
}

static inline char *write_span(struct format_csv *csv, char *out, const struct cell *cell,
			       size_t column)
{
	struct format_csv_span *span = &csv->spans[(cell->id + column) % FORMAT_CSV_SPANS];

	if (span->id != cell->id || span->column != column)
		return write_new_span(csv, span, out, cell, column);
	memcpy(out, span->text, sizeof(span->text));
	return out + span->length;
}

size_t format_csv_row(struct format_csv *csv, const struct cell *cell, size_t count, char *out)
{
	char *at = out;

	for (size_t i = 0; i < count;) {
		if (cell[i].span) {
			at = write_span(csv, at, &cell[i], i);
			i += cell[i].span;
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
