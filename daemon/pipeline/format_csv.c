// SPDX-License-Identifier: GPL-2.0-or-later
#include "format_csv.h"

#include <string.h>
#include <time.h>

#define SECOND_NS     1000000000
#define CELL_SIZE_MAX 40 /* bytes of a cell that is no text, with its comma */
#define FIXED_MAX     (CELLS_MAX * CELL_SIZE_MAX + 3 * FLAGS_TEXT_MAX + 512)

void format_csv_init(struct format_csv *csv)
{
	csv->second = INT64_MIN;
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

static char *write_time(struct format_csv *csv, char *out, uint64_t ns)
{
	int64_t second = (int64_t)(ns / SECOND_NS);
	struct tm date;

	if (second != csv->second) {
		time_t clock = (time_t)second;

		gmtime_r(&clock, &date);
		write_date(csv->date, &date);
		csv->second = second;
	}
	out = mempcpy(out, csv->date, FORMAT_CSV_DATE_SIZE);
	*out++ = (char)('0' + ns % SECOND_NS / 100000000);
	return digits_8(out, (uint32_t)(ns % 100000000));
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

static char *write_cell(struct format_csv *csv, char *out, const struct cell *cell)
{
	switch (cell->kind) {
	case CELL_TEXT:
		return write_text(out, cell);
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
	case CELL_TIME:
		return write_time(csv, out, cell->number);
	default:
		return out;
	}
}

size_t format_csv_row(struct format_csv *csv, const struct cell *cell, size_t count, char *out)
{
	char *at = out;

	for (size_t i = 0; i < count; i++) {
		at = write_cell(csv, at, &cell[i]);
		*at++ = ',';
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
