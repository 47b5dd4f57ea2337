// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 32 };

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

void table_heads(struct table *table, const char *heads)
{
	for (const char *end; heads; heads = *end ? end + 1 : NULL) {
		end = strchrnul(heads, '|');
		table_add(table, STYLE_BOLD, "%.*s", (int)(end - heads), heads);
	}
}

/* The end of the text, as what tells names of one folder apart stands there, in so many columns. */
static const char *end_of(const char *text, int room)
{
	size_t left = strlen(text);
	wchar_t character;

	while (left && text_width(text) > room) {
		size_t length = text_character(text, left, &character);

		text += length;
		left -= length;
	}
	return text;
}

static void print_short(const char *text, int room, FILE *stream)
{
	static const char cut[] = "...";

	if (text_width(text) > room) {
		fputs(room > (int)strlen(cut) ? cut : "", stream);
		room -= room > (int)strlen(cut) ? (int)strlen(cut) : 0;
		text = end_of(text, room);
	}
	put_text(stream, text);
}

/* Columns that are left for the last one. */
static int last_room(const struct table *table, const int *widths)
{
	int room = table->width - table->indent;

	for (size_t i = 0; i + 1 < table->columns; i++)
		room -= widths[i] + 2;
	return room > 0 ? room : 0;
}

static void print_cell(const struct table *table, const struct table_cell *cell, size_t column,
		       int width, FILE *stream)
{
	int padding = width - text_width(cell->text);
	bool right = table->right & 1u << column, last = column + 1 == table->columns;

	if (right && padding > 0)
		fprintf(stream, "%*s", padding, "");
	if (cell->style)
		fputs(style(stream, cell->style), stream);
	if (last && table->width)
		print_short(cell->text, width, stream);
	else
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
		int width = text_width(table->cells[i].text);
		int *widest = &widths[i % table->columns];

		if (width > *widest)
			*widest = width;
	}
	if (table->width && table->columns)
		widths[table->columns - 1] = last_room(table, widths);
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
