// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stdio.h>

#include "cleanup.h"
#include "output/json.h"
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

static void print_stream(struct json_object *stream)
{
	struct json_object *operations = member_of(stream, "operations");
	struct table table = { .columns = 2, .indent = 2 };

	printf("%s--%s%s  %s\n", style(stdout, STYLE_BOLD), text_of(stream, "flag", "?"),
	       style(stdout, STYLE_PLAIN), text_of(stream, "doc", ""));
	for (size_t i = 0; i < count_of(operations); i++)
		add_operation(&table, json_object_array_get_idx(operations, i));
	table_print(&table, stdout);
	table_done(&table);
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	struct json_object *streams;
	int code = request(context, "Streams", parameters, &reply);

	(void)argc, (void)argv;
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

const struct verb verb_streams = {
	.name = "streams",
	.run = run,
	.group = VERBS_MACHINE,
	.synopsis = "",
	.summary = "show what can be recorded, and through which hooks",
};
