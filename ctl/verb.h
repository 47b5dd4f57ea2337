/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verbs of the client: each has one row in verbs.c and one function in verb_NAME.c. Options are parsed
 * before the function runs; its return value is the exit code. One thread.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "options.h"

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_UNREACHABLE = 3, /* the daemon does not run */
	EXIT_DENIED = 4,
	EXIT_NO_SESSION = 5,
	EXIT_PARTLY = 6, /* done, except for what was printed */
};

/* What the command line asked for; borrowed by the functions that do it. */
struct context {
	const char *socket;
	bool json;
	bool wants_json; /* the same, valid while the command line is still being parsed */
	bool help;
	bool version;
	uint64_t interval_ns;	 /* time between two updates; 0: only one is shown */
	const struct verb *verb; /* NULL until it is known */
};

struct verb {
	const char *name;
	/* `parameters` contains the values of the options, by their names in the protocol. */
	int (*run)(struct context *context, struct json_object *parameters, int argc, char **argv);
	const char *group; /* the group in which the help lists it */
	const char *synopsis;
	const char *summary;
	const struct option_group *const
		*groups; /* NULL ends the list; a NULL list: only the global options */
	int arguments_min;
	int arguments_max;	 /* -1: any number */
	bool ends_options_early; /* words after the first argument are not options of the client */
};

int verb_anonymize(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_start(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_stop(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_list(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_status(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_rotate(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_dump(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_set(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_record(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_snapshot(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_tail(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_top(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_streams(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_doctor(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_reload(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_verify(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_help(struct context *context, struct json_object *parameters, int argc, char **argv);
int verb_version(struct context *context, struct json_object *parameters, int argc, char **argv);

extern const struct verb verbs[];
extern const size_t verb_count;

/* Must be called before the table is used: gives the verbs that start sessions a flag per stream. */
void verbs_prepare(void);
/* Returns NULL if there is none of that name. */
const struct verb *verb_find(const char *name);
/* Prints an error about an unknown verb. Returns EXIT_USAGE. */
int verb_unknown(const struct context *context, const char *name);

/* Prints an error on stderr; `hint` says what to do about it, or is NULL. */
void complain(const char *hint, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * The same for a command line that cannot be understood; returns EXIT_USAGE. `parameter` is the part at fault
 * for readers of JSON, by its name in the protocol or as it was written; NULL: not known.
 */
int complain_usage_of(const struct context *context, const char *parameter, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define complain_usage(context, ...) complain_usage_of(context, NULL, __VA_ARGS__)

/* Moves the argument NAME, if it was given, to the parameter "name". */
void take_name(struct json_object *parameters, int argc, char **argv);
