// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "output/json.h"
#include "output/streams.h"
#include "output/table.h"
#include "request/request.h"

static bool is_declared(struct json_object *session)
{
	return json_object_get_boolean(member_of(session, "declared"));
}

static void add_session(struct table *table, struct json_object *session, bool any_declared)
{
	char streams[256], written[32], lost[32];
	uint64_t lost_rows = session_lost(session);

	table_add(table, STYLE_PLAIN, "%s", text_of(session, "name", "?"));
	table_add(table, STYLE_PLAIN, "%s", text_of(session, "state", "?"));
	table_add(table, STYLE_PLAIN, "%s", text_of(session, "started", "?"));
	table_add(table, STYLE_PLAIN, "%s", join_streams(session, streams, sizeof(streams)));
	table_add(table, STYLE_PLAIN, "%s",
		  format_count(written, sizeof(written), session_written(session)));
	table_add(table, lost_rows ? STYLE_BAD : STYLE_PLAIN, "%s",
		  format_count(lost, sizeof(lost), lost_rows));
	if (any_declared)
		table_add(table, STYLE_PLAIN, "%s", is_declared(session) ? "file" : "client");
	table_add(table, STYLE_PLAIN, "%s", text_of(session, "output", "memory"));
}

/* Who has started each is a column where there are both kinds, or could be. */
static void print_sessions(struct json_object *sessions)
{
	static const char *const heads[] = { "NAME", "STATE", "STARTED", "STREAMS",
					     "ROWS", "LOST", "BY", "OUTPUT" };
	struct table table = { .columns = 7, .right = 1 << 4 | 1 << 5 };
	bool any_declared = false;

	for (size_t i = 0; i < count_of(sessions); i++)
		any_declared |= is_declared(json_object_array_get_idx(sessions, i));
	table.columns += any_declared;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (any_declared || strcmp(heads[i], "BY"))
			table_add(&table, STYLE_BOLD, "%s", heads[i]);
	for (int declared = 1; declared >= 0; declared--)
		for (size_t i = 0; i < count_of(sessions); i++)
			if (is_declared(json_object_array_get_idx(sessions, i)) == declared)
				add_session(&table, json_object_array_get_idx(sessions, i), any_declared);
	table_print(&table, stdout);
	table_done(&table);
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	int code = request(context, "List", parameters, &reply);

	(void)argc, (void)argv;
	if (code != EXIT_DONE)
		return code;
	if (context->json)
		print_json(reply);
	else if (!count_of(member_of(reply, "sessions")))
		puts("No session is running.");
	else
		print_sessions(member_of(reply, "sessions"));
	return EXIT_DONE;
}

const struct verb verb_list = {
	.name = "list",
	.run = run,
	.group = VERBS_SESSIONS,
	.synopsis = "",
	.summary = "show the sessions",
};
