// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "command_line/options.h"
#include "output/complain.h"
#include "output/interrupt.h"
#include "output/json.h"
#include "output/text.h"
#include "request/request.h"
#include "schema.h"

/* Columns that are not listed: shown at the beginning of the line, or only useful in a file. */
static bool is_left_out(const char *column)
{
	static const char *const names[] = { "timestamp", "operation", "pid", "tid",
					     "command",	  "ppid",      "uid", "cgroup_id",
					     "cpu_id",	  "mono_ns" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], column))
			return true;
	return false;
}

/* Prints the heading before the first row, so that none is printed if the session is refused. */
static void print_head(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	printf("%s%-18s %-9s %-15s %7s %-15s DETAILS%s\n", style(stdout, STYLE_BOLD), "TIME",
	       "STREAM", "OPERATION", "PID", "COMMAND", style(stdout, STYLE_PLAIN));
}

static void print_row(struct json_object *row)
{
	struct json_object *columns = member_of(row, "columns");
	const char *timestamp = text_of(columns, "timestamp", "");
	const char *time = strchr(timestamp, ' ');

	print_head();
	printf("%-18.18s %-9s %-15s %7s ", time ? time + 1 : timestamp, text_of(row, "stream", ""),
	       text_of(columns, "operation", ""), text_of(columns, "pid", ""));
	printf("%-15s", text_of(columns, "command", ""));
	if (!json_object_is_type(columns, json_type_object))
		columns = NULL;
	if (columns) {
		json_object_object_foreach(columns, name, value)
		{
			const char *text = json_object_get_string(value);

			if (!text || !*text || is_left_out(name))
				continue;
			printf(" %s=", name);
			put_text(stdout, text);
		}
	}
	putchar('\n');
}

static enum iotr_type type_of(int stream, const char *name)
{
	const struct iotr_schema *schema = &iotr_schemas[stream];

	for (size_t i = 0; i < schema->column_count; i++)
		if (!strcmp(schema->columns[i].name, name))
			return schema->columns[i].type;
	return IOTR_TYPE_TEXT;
}

/* The value in rows of JSON lines: numbers are numbers, unknown values are null, everything else is text. */
static struct json_object *typed(enum iotr_type type, struct json_object *value)
{
	const char *text = json_object_get_string(value) ?: "";
	char *end;

	if (!*text)
		return NULL;
	errno = 0;
	if (type == IOTR_TYPE_U64 && *text != '-') {
		uint64_t number = strtoull(text, &end, 10);

		return errno || *end ? json_object_get(value) : json_object_new_uint64(number);
	}
	if (type == IOTR_TYPE_S64) {
		int64_t number = strtoll(text, &end, 10);

		return errno || *end ? json_object_get(value) : json_object_new_int64(number);
	}
	if (type == IOTR_TYPE_MS) {
		double number = strtod(text, &end);

		return errno || *end ? json_object_get(value) : json_object_new_double_s(number, text);
	}
	return json_object_get(value);
}

/* The daemon sends every column as text; columns that this client does not know remain text. */
static void give_types(struct json_object *row)
{
	struct json_object *columns = member_of(row, "columns"), *typed_columns;
	int stream = iotr_stream_find(text_of(row, "stream", ""));

	if (stream < 0 || !json_object_is_type(columns, json_type_object))
		return;
	typed_columns = json_object_new_object();
	json_object_object_foreach(columns, name, value)
		json_object_object_add(typed_columns, name, typed(type_of(stream, name), value));
	json_object_object_add(row, "columns", typed_columns);
}

static void print_reply(const struct context *context, struct json_object *parameters)
{
	struct json_object *row = member_of(parameters, "row");
	uint64_t skipped = number_of(parameters, "skipped");

	if (context->json && row) {
		if (skipped)
			json_object_object_add(row, "skipped", json_object_new_uint64(skipped));
		give_types(row);
		print_json(row);
		return;
	}
	if (skipped)
		complain(NULL, "skipped %llu rows, as they came too fast to be shown", (unsigned long long)skipped);
	if (row)
		print_row(row);
}

/* Shows one reply. Returns EXIT_DONE and `*last`, or the exit code. */
static int show_next(const struct context *context, struct connection *connection, bool *last)
{
	_cleanup_json_ struct json_object *reply = NULL;
	int code;

	if (!connection_pending(connection) && (fflush(stdout) || ferror(stdout))) {
		*last = true; /* nobody reads the output any more; main() distinguishes the causes */
		return EXIT_DONE;
	}
	code = request_next(context, connection, &reply, last);
	if (code == EXIT_DONE && reply)
		print_reply(context, reply);
	return code;
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_(connection_close) struct connection connection = CONNECTION_NONE;
	bool last = false;
	int code;

	take_name(parameters, argc, argv);
	code = request_more(context, &connection, "Tail", parameters);
	interrupt_catch();
	while (!last && !interrupt_came() && code == EXIT_DONE)
		code = show_next(context, &connection, &last);
	return code;
}

static const struct option_row own_rows[] = {
	{ .name = "stream",
	  .kind = OPTION_TEXTS,
	  .parameter = "streams",
	  .value = "STREAM,...",
	  .help = "only rows of these streams" },
};
static const struct option_group own_options = OPTION_GROUP("Rows", own_rows);
static const struct option_group *const options[] = { &own_options, NULL };

const struct verb verb_tail = {
	.name = "tail",
	.run = run,
	.group = VERBS_LOOK,
	.synopsis = "[NAME] [--stream STREAM,...]",
	.summary = "show rows as they are written, of NAME or the one session that runs",
	.options = options,
	.arguments_max = 1,
};
