// SPDX-License-Identifier: GPL-2.0-or-later
#include "golden.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 64 };

/* Part of a text. In JSON a field is `"name":value`, and a name is `"name"`. */
struct field {
	const char *text;
	size_t length;
};

struct fields {
	struct field at[FIELDS_MAX];
	size_t count;
};

struct iotr_anonymizer *golden_anonymizer(uint8_t key[IOTR_ANONYMIZE_KEY_SIZE])
{
	struct iotr_anonymizer *anonymizer;

	for (size_t i = 0; i < IOTR_ANONYMIZE_KEY_SIZE; i++)
		key[i] = (uint8_t)i;
	ck_assert_int_eq(iotr_anonymizer_new(key, &anonymizer), 0);
	return anonymizer;
}

static void add_field(struct fields *fields, const char *text, size_t length)
{
	ck_assert_uint_lt(fields->count, FIELDS_MAX);
	fields->at[fields->count++] = (struct field){ text, length };
}

/* Splits a line at the commas that are outside of quotes. A backslash protects a quote in JSON; CSV has none before one. */
static void split(const char *line, size_t length, struct fields *fields)
{
	const char *end = line + length, *from;
	bool quoted = false;

	fields->count = 0;
	if (length && *line == '{')
		line++, end--;
	from = line;
	for (; line < end; line++) {
		if (*line == '\\')
			line++;
		else if (*line == '"')
			quoted = !quoted;
		else if (*line == ',' && !quoted) {
			add_field(fields, from, (size_t)(line - from));
			from = line + 1;
		}
	}
	add_field(fields, from, (size_t)(end - from));
}

static bool is_json(const char *text)
{
	return *text == '{';
}

/* The names of a text's columns: CSV has them in its first line, JSON in every line. */
static void read_names(const char *text, struct fields *names)
{
	split(text, strcspn(text, "\n"), names);
	for (size_t i = 0; is_json(text) && i < names->count; i++)
		names->at[i].length = strcspn(names->at[i].text, ":");
}

/* Number of the column of that name; `count` of the names if there is none. */
static size_t find(const struct fields *names, const struct field *name)
{
	size_t i = 0;

	while (i < names->count && (names->at[i].length != name->length ||
				    memcmp(names->at[i].text, name->text, name->length) != 0))
		i++;
	return i;
}

static char *put(char *to, const struct field *field)
{
	memcpy(to, field->text, field->length);
	return to + field->length;
}

/* Copies the text with the columns `to` of those that it has, `from`. In CSV it may lack some, which are empty then. */
static void select_columns(const char *text, const struct fields *from, const struct fields *to, char *out)
{
	const char *line = text;

	while (*line) {
		size_t length = strcspn(line, "\n");
		struct fields fields;

		split(line, length, &fields);
		ck_assert_uint_eq(fields.count, from->count);
		if (is_json(text))
			*out++ = '{';
		for (size_t i = 0; i < to->count; i++) {
			size_t column = find(from, &to->at[i]);

			if (i)
				*out++ = ',';
			if (column < from->count)
				out = put(out, &fields.at[column]);
			else if (line == text)
				out = put(out, &to->at[i]);
		}
		if (is_json(text))
			*out++ = '}';
		*out++ = '\n';
		line += length + 1;
	}
	*out = '\0';
}

static void file_path(char path[4096], enum iotr_stream stream, const char *ending)
{
	snprintf(path, 4096, GOLDEN_FOLDER "/%s%s", iotr_schemas[stream].flag, ending);
}

static void read_file(enum iotr_stream stream, const char *ending, char text[GOLDEN_SIZE])
{
	char path[4096];
	FILE *file;

	file_path(path, stream, ending);
	file = fopen(path, "re");
	ck_assert_msg(file, "%s", path);
	text[fread(text, 1, GOLDEN_SIZE - 1, file)] = '\0';
	fclose(file);
}

static void write_file(enum iotr_stream stream, const char *ending, const char *text)
{
	char path[4096];
	FILE *file;

	file_path(path, stream, ending);
	file = fopen(path, "we");
	ck_assert_msg(file, "%s", path);
	fputs(text, file);
	fclose(file);
}

void golden_read_csv(enum iotr_stream stream, char text[GOLDEN_SIZE])
{
	static char file[GOLDEN_SIZE];
	struct fields from, to = { .count = 0 };

	read_file(stream, ".csv", file);
	read_names(file, &from);
	for (size_t i = 0; i < iotr_schemas[stream].column_count; i++)
		add_field(&to, iotr_schemas[stream].columns[i].name, strlen(iotr_schemas[stream].columns[i].name));
	select_columns(file, &from, &to, text);
}

/* Both texts have the same columns. Tells the first cell that differs. */
static void compare(const char *actual, const char *expected, const struct fields *names)
{
	for (int line = 1; *actual || *expected; line++) {
		size_t got = strcspn(actual, "\n"), wanted = strcspn(expected, "\n"), i = 0;
		struct fields left, right;

		split(actual, got, &left);
		split(expected, wanted, &right);
		ck_assert_msg(left.count == right.count, "line %d has %zu columns instead of %zu: %.*s", line,
			      left.count, right.count, (int)got, actual);
		while (i < left.count && left.at[i].length == right.at[i].length &&
		       !memcmp(left.at[i].text, right.at[i].text, left.at[i].length))
			i++;
		ck_assert_msg(i == left.count, "line %d, column %.*s: %.*s instead of %.*s", line,
			      (int)names->at[i].length, names->at[i].text, (int)left.at[i].length, left.at[i].text,
			      (int)right.at[i].length, right.at[i].text);
		ck_assert_msg(!actual[got] == !expected[wanted], "line %d is the last of one of the two", line);
		actual += got + (actual[got] != '\0');
		expected += wanted + (expected[wanted] != '\0');
	}
}

void golden_compare(enum iotr_stream stream, const char *ending, const char *actual)
{
	static char expected[GOLDEN_SIZE], selected[GOLDEN_SIZE];
	const char *update = getenv("IOTRACER_UPDATE_GOLDEN") ?: "";
	struct fields has, expects, both = { .count = 0 };

	if (!strcmp(update, "all"))
		write_file(stream, ending, actual);
	read_file(stream, ending, expected);
	read_names(expected, &expects);
	read_names(actual, &has);
	for (size_t i = 0; i < has.count; i++) {
		if (find(&expects, &has.at[i]) < expects.count)
			add_field(&both, has.at[i].text, has.at[i].length);
		else
			printf("tests/golden/%s%s has no column %.*s\n", iotr_schemas[stream].flag, ending,
			       (int)has.at[i].length, has.at[i].text);
	}
	select_columns(actual, &has, &both, selected);
	compare(selected, expected, &both);
	if (!strcmp(update, "columns") && both.count < has.count)
		write_file(stream, ending, actual);
}
