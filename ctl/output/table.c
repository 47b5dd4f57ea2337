// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

enum { COLUMNS_MAX = 16 };

void table_add(struct table *table, enum style style, const char *format, ...)
{
	struct table_cell cell = { .style = style };
	va_list arguments;
	int r;

	if (table->count == table->capacity) {
		size_t capacity = table->capacity ? 2 * table->capacity : 64;
		void *cells = reallocarray(table->cells, capacity, sizeof(*table->cells));

		if (!cells)
			return;
		table->cells = cells;
		table->capacity = capacity;
	}
	va_start(arguments, format);
	r = vasprintf(&cell.text, format, arguments);
	va_end(arguments);
	if (r >= 0)
		table->cells[table->count++] = cell;
}

/* The number of characters, not bytes, of UTF-8. */
static int width_of(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}

static void print_cell(const struct table *table, const struct table_cell *cell, size_t column,
		       int width, FILE *stream)
{
	int padding = width - width_of(cell->text);
	bool right = table->right & 1u << column, last = column + 1 == table->columns;

	if (right)
		fprintf(stream, "%*s", padding, "");
	if (cell->style)
		fputs(style(stream, cell->style), stream);
	put_text(stream, cell->text);
	if (cell->style)
		fputs(style(stream, STYLE_PLAIN), stream);
	if (!last)
		fprintf(stream, "%*s", (right ? 0 : padding) + 2, "");
}

void table_print(const struct table *table, FILE *stream)
{
	int widths[COLUMNS_MAX] = { 0 };

	for (size_t i = 0; i < table->count; i++) {
		int width = width_of(table->cells[i].text);
		int *widest = &widths[i % table->columns];

		if (width > *widest)
			*widest = width;
	}
	for (size_t i = 0; i < table->count; i++) {
		size_t column = i % table->columns;

		if (!column)
			fprintf(stream, "%*s", table->indent, "");
		print_cell(table, &table->cells[i], column, widths[column], stream);
		if (column + 1 == table->columns)
			putc('\n', stream);
	}
}

void table_done(struct table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i].text);
	free(table->cells);
}
