/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A verb of the client: one row in verbs.c, one function in verb_NAME.c. Options are parsed before
 * the function runs; what it returns is the exit code. One thread.
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
	EXIT_UNREACHABLE = 3, /* no daemon */
	EXIT_DENIED = 4,
	EXIT_NO_SESSION = 5,
	EXIT_PARTLY = 6, /* done, but for what was said */
};

/* What was asked for, borrowed by everything that carries it out. */
struct context {
	const char *socket;
	bool json;
	bool help;
	bool version;
	uint64_t interval_ns;	 /* between two looks; 0: one look is enough */
	const struct verb *verb; /* NULL before it is known */
};

struct verb {
	const char *name;
	/* `parameters` holds what the options said, by the names of the protocol. */
	int (*run)(struct context *context, struct json_object *parameters, int argc, char **argv);
	const char *synopsis;
	const char *summary;
	const struct option_group *const
		*groups; /* ended by NULL; NULL: none but the global ones */
	int arguments_min;
	int arguments_max;	 /* -1: any number */
	bool ends_options_early; /* what follows the first argument is not ours */
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
int verb_version(struct context *context, struct json_object *parameters, int argc, char **argv);

extern const struct verb verbs[];
extern const size_t verb_count;

/* Before the table is used: gives the verbs that start sessions a flag per stream. */
void verbs_prepare(void);
/* NULL: there is none of that name. */
const struct verb *verb_find(const char *name);

/* Says on stderr what failed; `hint` says what to do about it, or is NULL. */
void complain(const char *hint, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a command line that cannot be understood: EXIT_USAGE. */
int complain_usage(const struct context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Takes NAME, when there is one, into the parameter "name". */
void take_name(struct json_object *parameters, int argc, char **argv);
