/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of options, used by the parser, the help, and for the parameters of the call. An option that is given
 * twice adds to a list and replaces a single value. One thread.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "verb.h"

enum option_kind {
	OPTION_SWITCH, /* true */
	OPTION_TEXT,
	OPTION_CHOICE,	 /* one of those that `value` lists, as in csv|jsonl */
	OPTION_TEXTS,	 /* separated by commas */
	OPTION_NUMBERS,	 /* separated by commas */
	OPTION_NUMBER,
	OPTION_NOT,	 /* false */
	OPTION_ON_OFF,	 /* true or false */
	OPTION_DURATION, /* converted to nanoseconds */
	OPTION_SIZE,	 /* converted to bytes */
	OPTION_DURATION_OFF, /* the same, or "off", which is 0 */
	OPTION_SIZE_OFF,
	OPTION_COUNT,	 /* a number above 0 */
	OPTION_PATH,	 /* made absolute */
	OPTION_ITEM,	 /* one element of a list; commas are part of it */
	OPTION_PATHS,	 /* the same, as a path that is made absolute */
	OPTION_SAMPLE,	 /* STREAM=N, or N for the one stream in `members` */
	OPTION_CLEAR,	 /* names of filters' options, converted to names of parameters */
	OPTION_STREAM,	 /* adds its own name to the list of streams */
	OPTION_STREAMS,	 /* adds the streams in `members` that exist, or all if that is NULL */
	OPTION_SOCKET,	 /* this kind and those that follow control the client itself */
	OPTION_JSON,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_INTERVAL, /* a number of seconds or a duration; may be omitted */
	OPTION_KEY,	 /* true, and which key to use; the key may be omitted */
	OPTION_SETTLE,	 /* a number of seconds or a duration; may be omitted */
	OPTION_KIND_COUNT,
};

struct option_row {
	const char *name;
	enum option_kind kind;
	const char *parameter; /* of the call; NULL for options of the client itself */
	const char *value;     /* name of the argument in the help; NULL: the option takes none */
	const char *help;
	const char *members;
};

struct option_group {
	const char *title;
	const struct option_row *rows;
	size_t count;
};

#define OPTION_GROUP(title, rows) { title, rows, sizeof(rows) / sizeof((rows)[0]) }

extern const struct option_group global_options;

/*
 * Removes the options from the words, which end with NULL. The words that are left are moved to the front:
 * `*count` of them, and the NULL. `stop_at_argument`: everything from the first such word on is left as it is.
 * Returns EXIT_DONE, or EXIT_USAGE after printing an error.
 */
int options_parse(struct context *context, const struct option_group *const *groups,
		  bool stop_at_argument, int *count, char **words, struct json_object *parameters);

/* The option that sets a parameter, or NULL. */
const struct option_row *options_find(const struct option_group *const *groups,
				      const char *parameter);

/* Writes "--pid N,...": the option with its argument. Returns `text`. */
char *options_describe(const struct option_row *row, char *text, size_t size);
