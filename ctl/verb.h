/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every part of the client knows: exit codes, what the command line asked for, and what a verb is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct json_object;
struct option_group;

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
	uint64_t interval_ns;		 /* time between two updates; 0: only one is shown */
	uint64_t settle_ns;		 /* time that what is dirty is waited for, at most; 0: it is not */
	const struct verb *const *verbs; /* all there are; NULL ends the list */
	const struct verb *verb;	 /* NULL until it is known */
};

/* Each verb is a constant in a file of its name in verbs/. One thread runs it. */
struct verb {
	const char *name;
	/*
	 * Does it, after the options were parsed: `parameters` contains their values, by their names in the
	 * protocol. Returns the exit code; an error has been printed.
	 */
	int (*run)(struct context *context, struct json_object *parameters, int argc, char **argv);
	const char *group; /* the heading below which the help lists it */
	const char *synopsis;
	const char *summary;
	const struct option_group *const *options; /* NULL ends the list; a NULL list: only the global ones */
	int arguments_min;
	int arguments_max;	 /* -1: any number */
	bool ends_options_early; /* words after the first argument are not options of the client */
	bool command_last;	 /* it takes no argument but a command, which stands behind "--" and is optional */
};
