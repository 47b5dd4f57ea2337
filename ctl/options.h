/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options as rows: from them come the parser, the help, and the parameters of the call. An option
 * given twice adds to a list and replaces a single value. One thread.
 */
#pragma once

#include <json-c/json.h>
#include <stddef.h>

struct context;
struct verb;

enum option_kind {
	OPTION_SWITCH, /* true */
	OPTION_TEXT,
	OPTION_TEXTS,	 /* separated by commas */
	OPTION_NUMBERS,	 /* separated by commas */
	OPTION_NUMBER,
	OPTION_NOT,	 /* false */
	OPTION_ON_OFF,	 /* true or false */
	OPTION_DURATION, /* as nanoseconds */
	OPTION_SIZE,	 /* as bytes */
	OPTION_DURATION_OFF, /* the same, or off: 0 */
	OPTION_SIZE_OFF,
	OPTION_COUNT,	 /* a number of things */
	OPTION_PATH,	 /* made absolute */
	OPTION_ITEM,	 /* one more of a list, commas and all */
	OPTION_PATHS,	 /* the same, made absolute */
	OPTION_SAMPLE,	 /* STREAM=N, or N of the stream that is `members` */
	OPTION_CLEAR,	 /* names of filters' options, as their parameters */
	OPTION_STREAM,	 /* adds its own name to the list */
	OPTION_STREAMS,	 /* adds those of `members` that exist, or all when that is NULL */
	OPTION_SOCKET,	 /* from here on they say something to the client itself */
	OPTION_JSON,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_INTERVAL, /* seconds, or as a duration; may be left out */
	OPTION_KIND_COUNT,
};

struct option_row {
	const char *name;
	enum option_kind kind;
	const char *parameter; /* of the call; NULL for what the client keeps */
	const char *value;     /* what the help calls the argument; NULL: the option takes none */
	const char *help;
	const char *members;
};

struct option_group {
	const char *title;
	const struct option_row *rows;
	size_t count;
};

extern const struct option_group global_options;

/*
 * Parses argv[1] and following. `*first` is where the arguments that are no options begin.
 * EXIT_DONE, or EXIT_USAGE after complaining.
 */
int options_parse(struct context *context, const struct option_group *const *groups,
		  int stop_at_argument, int argc, char **argv, struct json_object *parameters,
		  int *first);

/* The option that sets a parameter, or NULL. */
const struct option_row *options_find(const struct option_group *const *groups,
				      const char *parameter);

void options_print_help(const struct option_group *group);
