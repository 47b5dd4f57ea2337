// SPDX-License-Identifier: GPL-2.0-or-later
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "option_values.h"
#include "verb.h"

enum { ROWS_MAX = 64, ROW_FIRST = 256 };

static const struct option_row global_rows[] = {
	{ .name = "socket",
	  .kind = OPTION_SOCKET,
	  .value = "PATH",
	  .help = "control socket of the daemon" },
	{ .name = "json", .kind = OPTION_JSON, .help = "print one JSON document" },
	{ .name = "help", .kind = OPTION_HELP, .help = "show this" },
};

const struct option_group global_options = {
	"Global options",
	global_rows,
	sizeof(global_rows) / sizeof(global_rows[0]),
};

/* Rows of all groups as getopt wants them; its value leads back to the row. */
struct table {
	const struct option_row *rows[ROWS_MAX];
	struct option options[ROWS_MAX + 1];
	size_t count;
};

static int argument_of(const struct option_row *row)
{
	if (row->kind == OPTION_INTERVAL)
		return optional_argument;
	return row->value ? required_argument : no_argument;
}

static void add_group(struct table *table, const struct option_group *group)
{
	for (size_t i = 0; i < group->count && table->count < ROWS_MAX; i++) {
		const struct option_row *row = &group->rows[i];

		table->rows[table->count] = row;
		table->options[table->count] = (struct option){
			.name = row->name,
			.has_arg = argument_of(row),
			.val = ROW_FIRST + (int)table->count,
		};
		table->count++;
	}
}

static int usage_hint(const struct context *context)
{
	fprintf(stderr, "Try 'iotracectl %s%s--help'.\n", context->verb ? context->verb->name : "",
		context->verb ? " " : "");
	return EXIT_USAGE;
}

int options_parse(struct context *context, const struct option_group *const *groups,
		  int stop_at_argument, int argc, char **argv, struct json_object *parameters,
		  int *first)
{
	struct table table = { 0 };
	int value, r = EXIT_DONE;

	add_group(&table, &global_options);
	for (; groups && *groups; groups++)
		add_group(&table, *groups);

	optind = 0; /* getopt begins anew */
	while (r == EXIT_DONE && (value = getopt_long(argc, argv, stop_at_argument ? "+h" : "h",
						      table.options, NULL)) >= 0) {
		if (value == '?')
			return usage_hint(context);
		if (value == 'h') {
			context->help = true;
			continue;
		}
		const struct option_row *row = table.rows[value - ROW_FIRST];

		r = option_take(context, row, optarg, parameters);
	}
	*first = optind;
	return r;
}

const struct option_row *options_find(const struct option_group *const *groups,
				      const char *parameter)
{
	for (; groups && *groups; groups++)
		for (size_t i = 0; i < (*groups)->count; i++) {
			const struct option_row *row = &(*groups)->rows[i];

			if (row->parameter && row->kind != OPTION_STREAM &&
			    row->kind != OPTION_STREAMS && !strcmp(row->parameter, parameter))
				return row;
		}
	return NULL;
}

void options_print_help(const struct option_group *group)
{
	printf("\n%s:\n", group->title);
	for (size_t i = 0; i < group->count; i++) {
		const struct option_row *row = &group->rows[i];
		bool optional = row->kind == OPTION_INTERVAL;
		char left[64];

		snprintf(left, sizeof(left), "--%s%s%s%s", row->name,
			 optional ? "[=" : row->value ? " " : "", row->value ?: "",
			 optional ? "]" : "");
		printf("  %-26s %s\n", left, row->help);
	}
}
