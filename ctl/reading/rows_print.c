// SPDX-License-Identifier: GPL-2.0-or-later
#include "reading/rows_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "output/json.h"
#include "output/text.h"

#define STREAM "stream"
#define TRACE  "trace"

/* ---- columns ---- */

static int find(enum iotr_stream stream, const char *name)
{
	const struct iotr_schema *schema = &iotr_schemas[stream];

	for (size_t i = 0; i < schema->column_count; i++)
		if (!strcmp(schema->columns[i].name, name))
			return (int)i;
	return -1;
}

static struct trace_text text_value(const char *text)
{
	return (struct trace_text){ text, strlen(text) };
}

struct trace_text rows_value(const struct merged_row *row, const char *column)
{
	int number = find(row->stream, column);

	return number < 0 ? text_value("") : merged_cell(row, (size_t)number);
}

static struct trace_text value_of(const struct rows_printer *printer, const struct merged_row *row, const char *column)
{
	if (!strcmp(column, STREAM))
		return text_value(iotr_schemas[row->stream].flag);
	if (!strcmp(column, TRACE))
		return text_value(printer->traces ? printer->traces[row->trace] : "");
	return rows_value(row, column);
}

static bool is_known(const char *name)
{
	bool known = !strcmp(name, STREAM) || !strcmp(name, TRACE);

	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		known |= find((enum iotr_stream)stream, name) >= 0;
	return known;
}

static void add(struct rows_printer *printer, const char *name)
{
	for (size_t i = 0; i < printer->column_count; i++)
		if (!strcmp(printer->columns[i], name))
			return;
	if (printer->column_count < ROWS_COLUMNS_MAX)
		printer->columns[printer->column_count++] = name;
}

/* The names live as long as the catalogue. */
static const char *lasting(const char *name)
{
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		int column = find((enum iotr_stream)stream, name);

		if (column >= 0)
			return iotr_schemas[stream].columns[column].name;
	}
	return strcmp(name, TRACE) ? STREAM : TRACE;
}

/* Columns of all streams that may come: the first five, those of each stream, the last five. */
static void add_all(struct rows_printer *printer)
{
	enum { FIRST = 5, LAST = 5 };

	if (printer->traces)
		add(printer, TRACE);
	if (printer->streams & (printer->streams - 1))
		add(printer, STREAM);
	for (unsigned int part = 0; part < 3; part++)
		for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
			const struct iotr_schema *schema = &iotr_schemas[stream];
			size_t begin = !part ? 0 : part == 1 ? FIRST : schema->column_count - LAST;
			size_t end = !part ? FIRST : part == 1 ? schema->column_count - LAST : schema->column_count;

			for (size_t i = begin; printer->streams >> stream & 1 && i < end; i++)
				add(printer, schema->columns[i].name);
		}
}

char *rows_printer_init(struct rows_printer *printer, enum rows_form form, uint32_t streams, const char *columns,
			const char *const *traces)
{
	_cleanup_free_ char *copy = columns ? strdup(columns) : NULL;
	char *rest = copy, *name;

	*printer = (struct rows_printer){ .form = form, .streams = streams & ((1U << IOTR_STREAM_COUNT) - 1),
					  .traces = traces,
					  .terminal = isatty(STDOUT_FILENO) };
	while ((name = strsep(&rest, ","))) {
		if (!is_known(name))
			return strdup(name);
		add(printer, lasting(name));
	}
	if (!columns && form == ROWS_CSV)
		add_all(printer);
	return NULL;
}

/* ---- CSV ---- */

/* Names are escaped by who wrote the row; who made the file up may not have done so. */
static void put_value(struct trace_text text, int width)
{
	_cleanup_free_ char *copy = strndup(text.at, text.length);

	put_text(stdout, copy ?: "");
	if (width > (int)text.length)
		printf("%*s", width - (int)text.length, "");
}

/* A terminal gets no control characters; a file or a program gets the bytes of the row. */
static void put_part(const struct rows_printer *printer, struct trace_text text)
{
	if (printer->terminal)
		put_value(text, 0);
	else
		fwrite(text.at, 1, text.length, stdout);
}

static void put_quoted(const struct rows_printer *printer, struct trace_text text)
{
	const char *end = text.at + text.length, *quote;

	putchar('"');
	while ((quote = memchr(text.at, '"', (size_t)(end - text.at)))) {
		put_part(printer, (struct trace_text){ text.at, (size_t)(quote - text.at) });
		fputs("\"\"", stdout);
		text.at = quote + 1;
	}
	put_part(printer, (struct trace_text){ text.at, (size_t)(end - text.at) });
	putchar('"');
}

static void put_csv(const struct rows_printer *printer, struct trace_text text)
{
	if (memchr(text.at, ',', text.length) || memchr(text.at, '"', text.length) || memchr(text.at, '\n', text.length) ||
	    memchr(text.at, '\r', text.length))
		put_quoted(printer, text);
	else
		put_part(printer, text);
}

static void print_csv_header(const struct rows_printer *printer)
{
	for (size_t i = 0; i < printer->column_count; i++)
		printf("%s%s", i ? "," : "", printer->columns[i]);
	putchar('\n');
}

static void print_csv(const struct rows_printer *printer, const struct merged_row *row)
{
	for (size_t i = 0; i < printer->column_count; i++) {
		if (i)
			putchar(',');
		put_csv(printer, value_of(printer, row, printer->columns[i]));
	}
	putchar('\n');
}

/* ---- JSON lines ---- */

static bool is_number(enum iotr_type type, struct trace_text text)
{
	int64_t with_sign;
	uint64_t number;

	if (type == IOTR_TYPE_MS)
		return trace_text_ms(text, &number);
	return (type == IOTR_TYPE_U64 || type == IOTR_TYPE_S64) &&
	       (trace_text_u64(text, &number) || trace_text_s64(text, &with_sign));
}

/* The types of JSON lines of the daemon. What a damaged file has in place of a number is text. */
static void put_member(const char *name, enum iotr_type type, struct trace_text text)
{
	struct json_object *string;

	printf("\"%s\":", name);
	if (!text.length) {
		fputs("null", stdout);
	} else if (is_number(type, text)) {
		fwrite(text.at, 1, text.length, stdout);
	} else {
		string = json_object_new_string_len(text.at, (int)text.length);
		put_json(string);
		json_object_put(string);
	}
}

static void print_json_row(const struct rows_printer *printer, const struct merged_row *row)
{
	const struct iotr_schema *schema = &iotr_schemas[row->stream];

	putchar('{');
	if (printer->traces && !printer->column_count) {
		put_member(TRACE, IOTR_TYPE_TEXT, value_of(printer, row, TRACE));
		putchar(',');
	}
	if (!printer->column_count)
		put_member(STREAM, IOTR_TYPE_WORD, text_value(schema->flag));
	for (size_t i = 0; !printer->column_count && i < schema->column_count; i++) {
		putchar(',');
		put_member(schema->columns[i].name, schema->columns[i].type, merged_cell(row, i));
	}
	for (size_t i = 0; i < printer->column_count; i++) {
		int column = find(row->stream, printer->columns[i]);

		if (i)
			putchar(',');
		put_member(printer->columns[i], column < 0 ? IOTR_TYPE_TEXT : schema->columns[column].type,
			 value_of(printer, row, printer->columns[i]));
	}
	puts("}");
}

/* ---- text ---- */

static int width_of(const char *column)
{
	static const struct {
		const char *name;
		int width;
	} widths[] = { { "timestamp", 29 }, { STREAM, 9 },   { "operation", 15 }, { "command", 15 }, { "pid", 7 },
		       { "tid", 7 },	    { "ppid", 7 },   { "uid", 5 },	  { "errno", 5 },    { "fd", 4 },
		       { "cpu_id", 6 },	    { "device", 8 }, { "mono_ns", 16 },	  { "flags", 20 },   { "latency_ns", 12 },
		       { "latency_ms", 12 } };

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		if (!strcmp(widths[i].name, column))
			return widths[i].width;
	return strlen(column) > 10 ? (int)strlen(column) : 10;
}

static void print_columns(const struct rows_printer *printer, const struct merged_row *row)
{
	for (size_t i = 0; i < printer->column_count; i++) {
		bool last = i + 1 == printer->column_count;
		int width = last ? 0 : width_of(printer->columns[i]);

		put_value(row ? value_of(printer, row, printer->columns[i]) : text_value(printer->columns[i]), width);
		fputs(last ? "\n" : "  ", stdout);
	}
}

/* Columns that stand at the beginning of the line, or are only useful in a file. */
static bool is_left_out(const char *column)
{
	static const char *const names[] = { "timestamp", "operation", "pid", "tid", "command", "ppid", "uid",
					     "cgroup_id", "cpu_id",    "mono_ns" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], column))
			return true;
	return false;
}

static void print_details(const struct rows_printer *printer, const struct merged_row *row)
{
	const struct iotr_schema *schema = &iotr_schemas[row->stream];

	put_value(rows_value(row, "timestamp"), 29);
	printf(" %-9s ", schema->flag);
	put_value(rows_value(row, "operation"), 15);
	printf(" %*s", 7 - (int)rows_value(row, "pid").length, "");
	put_value(rows_value(row, "pid"), 0);
	putchar(' ');
	put_value(rows_value(row, "command"), 15);
	if (printer->traces) {
		putchar(' ');
		put_value(text_value(printer->traces[row->trace]), 0);
	}
	for (size_t i = 0; i < schema->column_count; i++) {
		if (is_left_out(schema->columns[i].name) || !row->cell[i].length)
			continue;
		printf(" %s=", schema->columns[i].name);
		put_value(merged_cell(row, i), 0);
	}
	putchar('\n');
}

static void print_head(const struct rows_printer *printer)
{
	if (printer->form == ROWS_CSV) {
		print_csv_header(printer);
	} else if (printer->form == ROWS_TEXT) {
		fputs(style(stdout, STYLE_BOLD), stdout);
		if (printer->column_count)
			print_columns(printer, NULL);
		else
			printf("%-29s %-9s %-15s %7s %-15s %sDETAILS\n", "TIME", "STREAM", "OPERATION", "PID", "COMMAND",
			       printer->traces ? "TRACE " : "");
		fputs(style(stdout, STYLE_PLAIN), stdout);
	}
}

void rows_print(struct rows_printer *printer, const struct merged_row *row)
{
	if (!printer->begun)
		print_head(printer);
	printer->begun = true;
	if (printer->form == ROWS_CSV)
		print_csv(printer, row);
	else if (printer->form == ROWS_JSON)
		print_json_row(printer, row);
	else if (printer->column_count)
		print_columns(printer, row);
	else
		print_details(printer, row);
}

void rows_print_end(struct rows_printer *printer)
{
	if (!printer->begun && printer->form == ROWS_CSV)
		print_head(printer);
}
