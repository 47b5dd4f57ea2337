// SPDX-License-Identifier: GPL-2.0-or-later
#include "output.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "escape.h"
#include "protocol.h"

enum { COLUMNS_MAX = 16 };

static bool printed;

void print_json(struct json_object *document)
{
	printed = true;
	puts(json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN |
							      JSON_C_TO_STRING_NOSLASHESCAPE));
}

struct json_object *json_escaped(const char *bytes)
{
	size_t length = strlen(bytes);
	_cleanup_free_ char *text = malloc(ESCAPE_MAX(length) + 1);
	bool quote;

	if (!text)
		return NULL;
	length = escape_text(bytes, length, text, &quote);
	return json_object_new_string_len(text, (int)length);
}

/* Prints the error in the form of a reply of the daemon. */
static void print_json_error(const char *error, struct json_object *parameters, const char *message)
{
	_cleanup_json_ struct json_object *document = json_object_new_object();

	json_object_object_add(parameters, "message", json_escaped(message));
	json_object_object_add(document, "error", json_object_new_string(error));
	json_object_object_add(document, "parameters", parameters);
	print_json(document);
}

void print_json_failure(const char *what)
{
	print_json_error(IOTR_FAILED, json_object_new_object(), what);
}

void print_json_usage(const char *parameter, const char *what)
{
	struct json_object *parameters = json_object_new_object();

	json_object_object_add(parameters, "parameter", parameter ? json_escaped(parameter) : NULL);
	print_json_error(VARLINK_INVALID_PARAMETER, parameters, what);
}

bool json_printed(void)
{
	return printed;
}

struct json_object *member_of(struct json_object *object, const char *key)
{
	struct json_object *member = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, key, &member);
	return member;
}

const char *text_of(struct json_object *object, const char *key, const char *otherwise)
{
	struct json_object *member = member_of(object, key);

	return member ? json_object_get_string(member) : otherwise;
}

uint64_t number_of(struct json_object *object, const char *key)
{
	return json_object_get_uint64(member_of(object, key));
}

size_t count_of(struct json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

const char *style(FILE *stream, enum style style)
{
	static const char *const sequences[] = {
		[STYLE_PLAIN] = "\033[0m",
		[STYLE_BOLD] = "\033[1m",
		[STYLE_GOOD] = "\033[32m",
		[STYLE_BAD] = "\033[31m",
	};
	const char *terminal = getenv("TERM");
	bool colour = isatty(fileno(stream)) && !getenv("NO_COLOR") &&
		      !(terminal && !strcmp(terminal, "dumb"));

	return colour ? sequences[style] : "";
}

char *format_count(char *text, size_t size, uint64_t count)
{
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	size_t at = 0;

	for (size_t i = 0; i < length && at + 2 < size; i++) {
		if (i && (length - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	return text;
}

void put_text(FILE *stream, const char *text)
{
	for (size_t left = strlen(text), length; left; text += length, left -= length) {
		length = escape_character(text, left);
		/* U+0080 to U+009F: some terminals treat U+009B as ESC and "[". */
		if (!length || (length == 2 && (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] < 0xa0)) {
			putc('?', stream);
			length = length ?: 1;
		} else {
			fwrite(text, 1, length, stream);
		}
	}
}

void put_line(FILE *stream, const char *format, ...)
{
	_cleanup_free_ char *line = NULL;
	va_list arguments;
	int r;

	va_start(arguments, format);
	r = vasprintf(&line, format, arguments);
	va_end(arguments);
	if (r < 0)
		line = NULL;
	put_text(stream, line ?: "");
	putc('\n', stream);
}

void pictures_begin(void)
{
	static char picture[1 << 16];

	setvbuf(stdout, picture, _IOFBF, sizeof(picture));
}

void picture_next(void)
{
	static bool again;

	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	else if (again)
		putchar('\n');
	again = true;
}

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
