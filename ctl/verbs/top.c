// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stdio.h>

#include "cleanup.h"
#include "command_line/session_options.h"
#include "output/json.h"
#include "output/table.h"
#include "request/request.h"
#include "units.h"
#include "verbs/interrupt.h"

static uint64_t per_second(struct json_object *group, const char *key, uint64_t interval_ns)
{
	return (uint64_t)((double)number_of(group, key) * 1e9 / (double)(interval_ns ?: 1));
}

static void add_duration(struct table *table, struct json_object *group, const char *key)
{
	char text[32];

	table_add(table, STYLE_PLAIN, "%s",
		  iotr_format_duration(text, sizeof(text), number_of(group, key)));
}

static void add_group(struct table *table, struct json_object *group, uint64_t interval_ns)
{
	char rows[32], bytes[32];

	table_add(table, STYLE_PLAIN, "%s",
		  format_count(rows, sizeof(rows), per_second(group, "rows", interval_ns)));
	table_add(table, STYLE_PLAIN, "%s",
		  iotr_format_size(bytes, sizeof(bytes), per_second(group, "bytes", interval_ns)));
	add_duration(table, group, "latency_ns");
	add_duration(table, group, "latency_max_ns");
	table_add(table, STYLE_PLAIN, "%llu", (unsigned long long)number_of(group, "pid"));
	table_add(table, STYLE_PLAIN, "%s", text_of(group, "command", ""));
	table_add(table, STYLE_PLAIN, "%s.%s", text_of(group, "stream", ""),
		  text_of(group, "operation", ""));
	table_add(table, STYLE_PLAIN, "%s", text_of(group, "path", ""));
}

static void print_top(struct json_object *reply)
{
	static const char *const heads[] = { "ROWS/S",	"BYTES/S", "LATENCY",	"MAX",
					     "PROCESS", "COMMAND", "OPERATION", "FILE" };
	struct json_object *groups = member_of(reply, "top");
	uint64_t interval_ns = number_of(reply, "interval_ns");
	struct table table = { .columns = 8, .right = 0x1f };
	char rows[32], shown[32];

	printf("%s rows a second, %s processes, operations and files%s\n",
	       format_count(rows, sizeof(rows), per_second(reply, "rows", interval_ns)),
	       format_count(shown, sizeof(shown), number_of(reply, "groups")),
	       json_object_get_boolean(member_of(reply, "whole")) ?
		       "" :
		       ": more rows came than fit into memory; use filters");
	for (size_t i = 0; i < table.columns; i++)
		table_add(&table, STYLE_BOLD, "%s", heads[i]);
	for (size_t i = 0; i < count_of(groups); i++)
		add_group(&table, json_object_array_get_idx(groups, i), interval_ns);
	table_print(&table, stdout);
	table_done(&table);
}

static void draw(const struct context *context, struct json_object *reply)
{
	if (context->json) {
		print_json(reply);
		return;
	}
	picture_next();
	print_top(reply);
}

/* Shows one reply. Returns EXIT_DONE and `*last`, or the exit code. */
static int show_next(const struct context *context, struct connection *connection, bool *last)
{
	_cleanup_json_ struct json_object *message = NULL, *reply = NULL;
	int r = connection_receive(connection, &message), code;

	*last = interrupt_came();
	if (*last)
		return EXIT_DONE;
	if (r < 0)
		return request_broken(r);
	code = request_open_reply(context, message, &reply);
	if (code != EXIT_DONE)
		return code;
	if (member_of(reply, "top"))
		draw(context, reply);
	*last = !json_object_get_boolean(member_of(message, "continues")) || fflush(stdout) ||
		ferror(stdout);
	return EXIT_DONE;
}

/* If no stream was chosen, selects vfs: what programs do to files. */
static void choose_streams(struct json_object *parameters)
{
	struct json_object *streams;

	if (member_of(parameters, "streams"))
		return;
	streams = json_object_new_array();
	json_object_array_add(streams, json_object_new_string("vfs"));
	json_object_object_add(parameters, "streams", streams);
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_(connection_close) struct connection connection = CONNECTION_NONE;
	bool last = false;
	int code;

	(void)argc, (void)argv;
	choose_streams(parameters);
	code = request_more(context, &connection, "Top", parameters);
	pictures_begin();
	interrupt_catch();
	while (code == EXIT_DONE && !last)
		code = show_next(context, &connection, &last);
	return code;
}

static const struct option_row own_rows[] = {
	{ .name = "interval",
	  .kind = OPTION_DURATION,
	  .parameter = "interval_ns",
	  .value = "TIME",
	  .help = "time between updates [1s]" },
	{ .name = "sort",
	  .kind = OPTION_CHOICE,
	  .parameter = "sort",
	  .value = "rows|bytes|latency",
	  .help = "sort by this, largest first [bytes]" },
	{ .name = "lines",
	  .kind = OPTION_NUMBER,
	  .parameter = "count",
	  .value = "N",
	  .help = "show at most this number of lines [20]" },
};
static const struct option_group own_options = OPTION_GROUP("View", own_rows);
static const struct option_group *const options[] = {
	&stream_options, &process_options, &filter_options, &own_options, NULL
};

const struct verb verb_top = {
	.name = "top",
	.run = run,
	.group = VERBS_LOOK,
	.synopsis = "[STREAMS] [FILTERS]",
	.summary = "show which processes do what to which files, until Ctrl-C",
	.options = options,
};
