/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output for people: aligned tables, colour only on a terminal, control characters never; and JSON for
 * machines. Getters accept any object, including NULL, and return a default for a missing member.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Prints one document and a line end on stdout. */
void print_json(struct json_object *document);

/*
 * A JSON string from text that may contain any byte, such as a file's name. Returns NULL, which JSON prints as
 * null, if there is no memory.
 */
struct json_object *json_escaped(const char *bytes);

/*
 * With --json an error is a document, too: the one that the verb printed itself, otherwise one with the error
 * message.
 */
void print_json_failure(const char *what);
/* The same for an error in the command line; `parameter` is the one at fault, or NULL. */
void print_json_usage(const char *parameter, const char *what);
bool json_printed(void);

const char *text_of(struct json_object *object, const char *key, const char *otherwise);
uint64_t number_of(struct json_object *object, const char *key);
/* Returns a borrowed member, or NULL if there is none. */
struct json_object *member_of(struct json_object *object, const char *key);
/* Number of elements of an array; 0 for anything else. */
size_t count_of(struct json_object *array);

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_GOOD, STYLE_BAD };

/* Returns the escape sequence, or "" if the stream is not a terminal. */
const char *style(FILE *stream, enum style style);

/* Formats as "1,234,567". */
char *format_count(char *text, size_t size, uint64_t count);

/* Writes text with control characters, including U+0080 to U+009F, and bytes that are not valid UTF-8 replaced by '?'. */
void put_text(FILE *stream, const char *text);

/* The same for a whole line, with a line end. */
void put_line(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A live view: on a terminal each picture is written at once and replaces the one before. */
void pictures_begin(void);
void picture_next(void);

/* Collects rows, then prints them in columns. */
struct table {
	size_t columns;
	uint32_t right; /* bit per column: numbers, aligned to the right */
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
