// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stdio.h>

#include "cleanup.h"
#include "command_line/options.h"
#include "output/complain.h"
#include "output/json.h"
#include "output/streams.h"
#include "output/text.h"
#include "request/request.h"

static void print_stopped(struct json_object *session)
{
	const char *output = text_of(session, "output", NULL);

	put_line(stdout, "%s: stopped%s%s", text_of(session, "name", "?"),
		 output ? ", files are in " : "", output ?: "");
	print_session_streams(session, stdout);
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	struct json_object *sessions;
	int code;

	take_name(parameters, argc, argv);
	if (!member_of(parameters, "name") == !member_of(parameters, "all"))
		return complain_usage(context, "give a session's name, or --all");
	code = request(context, "Stop", parameters, &reply);
	if (code != EXIT_DONE)
		return code;

	sessions = member_of(reply, "sessions");
	if (context->json)
		print_json(reply);
	else if (!count_of(sessions) && !count_of(member_of(reply, "failed")))
		puts("No session was running.");
	for (size_t i = 0; !context->json && i < count_of(sessions); i++)
		print_stopped(json_object_array_get_idx(sessions, i));
	return complain_failed(reply);
}

static const struct option_row own_rows[] = {
	{ .name = "all", .kind = OPTION_SWITCH, .parameter = "all", .help = "stop every session" },
};
static const struct option_group own_options = OPTION_GROUP("Sessions", own_rows);
static const struct option_group *const options[] = { &own_options, NULL };

const struct verb verb_stop = {
	.name = "stop",
	.run = run,
	.group = VERBS_SESSIONS,
	.synopsis = "NAME | --all",
	.summary = "end sessions; their files are then complete",
	.options = options,
	.arguments_max = 1,
};
