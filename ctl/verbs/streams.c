// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "command_line/options.h"
#include "output/complain.h"
#include "output/json.h"
#include "output/sql.h"
#include "output/table.h"
#include "request/request.h"

static void add_operation(struct table *table, struct json_object *operation)
{
	const char *hook = text_of(operation, "hook", NULL);

	table_add(table, STYLE_PLAIN, "%s", text_of(operation, "name", "?"));
	if (hook)
		table_add(table, STYLE_PLAIN, "%s", hook);
	else
		table_add(table, STYLE_BAD, "not available: %s",
			  text_of(operation, "reason", "no reason is known"));
}

/* Why no operation can be recorded, if that is one reason for all of them; else NULL. */
static const char *common_reason(struct json_object *operations)
{
	const char *common = NULL;

	for (size_t i = 0; i < count_of(operations); i++) {
		const char *reason = text_of(json_object_array_get_idx(operations, i), "reason", NULL);

		if (!reason || (common && strcmp(reason, common)))
			return NULL;
		common = reason;
	}
	return common;
}

static void add_operations(struct table *table, struct json_object *operations)
{
	const char *reason = common_reason(operations);

	if (reason) {
		table_add(table, STYLE_PLAIN, "all %zu operations", count_of(operations));
		table_add(table, STYLE_BAD, "not available: %s", reason);
		return;
	}
	for (size_t i = 0; i < count_of(operations); i++)
		add_operation(table, json_object_array_get_idx(operations, i));
}

static void print_stream(struct json_object *stream)
{
	struct json_object *operations = member_of(stream, "operations");
	struct table table = { .columns = 2, .indent = 2 };

	printf("%s--%s%s  %s\n", style(stdout, STYLE_BOLD), text_of(stream, "flag", "?"),
	       style(stdout, STYLE_PLAIN), text_of(stream, "doc", ""));
	add_operations(&table, operations);
	table_print(&table, stdout);
	table_done(&table);
}

/* The catalogue of this program: it needs no daemon. */
static int print_sql(const struct context *context, const char *dialect)
{
	_cleanup_json_ struct json_object *document = json_object_new_object();
	_cleanup_free_ char *sql = sql_tables(dialect);

	if (!sql) {
		complain(NULL, "out of memory");
		return EXIT_FAILED;
	}
	if (context->json) {
		json_object_object_add(document, "sql", json_object_new_string(sql));
		print_json(document);
	} else {
		fputs(sql, stdout);
	}
	return EXIT_DONE;
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	const char *dialect = text_of(parameters, "sql", NULL);
	struct json_object *streams;
	int code = dialect ? EXIT_DONE : request(context, "Streams", parameters, &reply);

	(void)argc, (void)argv;
	if (dialect)
		return print_sql(context, dialect);
	if (code != EXIT_DONE)
		return code;
	if (context->json) {
		print_json(reply);
		return EXIT_DONE;
	}
	streams = member_of(reply, "streams");
	for (size_t i = 0; i < count_of(streams); i++) {
		if (i)
			putchar('\n');
		print_stream(json_object_array_get_idx(streams, i));
	}
	return EXIT_DONE;
}

static const struct option_row own_rows[] = {
	{ .name = "sql",
	  .kind = OPTION_CHOICE,
	  .parameter = "sql",
	  .value = "duckdb|clickhouse|postgres",
	  .help = "print the tables for the rows of a trace, without the daemon" },
};
static const struct option_group own_options = OPTION_GROUP("Databases", own_rows);
static const struct option_group *const options[] = { &own_options, NULL };

const struct verb verb_streams = {
	.name = "streams",
	.run = run,
	.group = VERBS_MACHINE,
	.synopsis = "[--sql duckdb|clickhouse|postgres]",
	.summary = "show what can be recorded, and through which hooks",
	.options = options,
};
