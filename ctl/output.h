/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What people read: aligned tables, colour on a terminal alone, control characters nowhere; and
 * JSON for machines. Getters take any object, also NULL, and a default for what is not there.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One document and a line end, on stdout. */
void print_json(struct json_object *document);

/* A string of what may hold any byte, as a file's name may; NULL, which is null, without memory. */
struct json_object *json_escaped(const char *bytes);

/* With --json an error is a document too: the verb's own, or, when it printed nothing, its complaint. */
void print_json_failure(const char *what);
bool json_printed(void);

const char *text_of(struct json_object *object, const char *key, const char *otherwise);
uint64_t number_of(struct json_object *object, const char *key);
/* Borrowed, NULL when there is none. */
struct json_object *member_of(struct json_object *object, const char *key);
/* Elements of an array; 0 for what is none. */
size_t count_of(struct json_object *array);

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_GOOD, STYLE_BAD };

/* The escape sequence, or "" when the stream is no terminal. */
const char *style(FILE *stream, enum style style);

/* "1,234,567" */
char *format_count(char *text, size_t size, uint64_t count);

/* Writes text with control characters as '?'. */
void put_text(FILE *stream, const char *text);

/* A live view: a terminal gets each picture at once, in the place of the one before. */
void pictures_begin(void);
void picture_next(void);

/* Rows gathered, then printed in columns. */
struct table {
	size_t columns;
	uint32_t right; /* bit per column: numbers */
	int indent;
	struct table_cell {
		char *text;
		enum style style;
	} * cells;
	size_t count, capacity;
};

void table_add(struct table *table, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void table_print(const struct table *table, FILE *stream);
void table_done(struct table *table);
