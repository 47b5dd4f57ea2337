// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "command_line/session_options.h"
#include "output/complain.h"
#include "output/json.h"
#include "output/sessions.h"
#include "output/streams.h"
#include "output/text.h"
#include "request/request.h"
#include "request/unit_names.h"
#include "verbs/declaration.h"

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	struct json_object *session;
	char streams[256];
	int code;

	take_name(parameters, argc, argv);
	if (!member_of(parameters, "streams"))
		return complain_usage(context, "no stream was given: use --vfs, --block or --all");
	if (member_of(parameters, "print_session"))
		return print_declaration(context, parameters);
	code = request(context, "Start", parameters, &reply);
	if (code != EXIT_DONE)
		return code;

	session = member_of(reply, "session");
	unit_names_check(reply);
	complain_warnings(reply);
	if (context->json)
		print_json(reply);
	else
		put_line(stdout, "%s: %s %s into %s", text_of(session, "name", "?"),
			 strcmp(text_of(session, "state", ""), "waiting") ? "recording" : "waits for a trigger to record",
			 join_streams(session, streams, sizeof(streams)),
			 text_of(session, "output", "memory"));
	return complain_missing(session) ? EXIT_PARTLY : EXIT_DONE;
}

static const struct option_row own_rows[] = {
	{ .name = "print-session",
	  .kind = OPTION_SWITCH,
	  .parameter = "print_session",
	  .help = "start nothing, but print the file for /etc/iotracer/sessions.d/NAME.session that declares it" },
};
static const struct option_group own_options = OPTION_GROUP("Start", own_rows);
static const struct option_group *const options[] = {
	&own_options, &stream_options, &process_options, &filter_options, &limit_options, &output_options,
	&memory_options, &trigger_options, &snapshot_options, NULL
};

const struct verb verb_start = {
	.name = "start",
	.run = run,
	.group = VERBS_SESSIONS,
	.synopsis = "[NAME] STREAMS [FILTERS] [LIMITS] [FILES]",
	.summary = "start a session; without NAME it is called 'default'",
	.options = options,
	.arguments_max = 1,
};
