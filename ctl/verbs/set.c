// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stdio.h>

#include "cleanup.h"
#include "command_line/session_options.h"
#include "output/complain.h"
#include "output/json.h"
#include "output/sessions.h"
#include "request/request.h"
#include "request/unit_names.h"

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	int code;

	if (!json_object_object_length(parameters))
		return complain_usage(context, "no filter was given: see iotracectl set --help");
	take_name(parameters, argc, argv);
	code = request(context, "Set", parameters, &reply);
	if (code != EXIT_DONE)
		return code;
	unit_names_check(reply);
	complain_warnings(reply);
	if (context->json)
		print_json(reply);
	else
		print_session(member_of(reply, "session"), stdout);
	return EXIT_DONE;
}

static const struct option_row own_rows[] = {
	{ .name = "clear",
	  .kind = OPTION_CLEAR,
	  .parameter = "clear",
	  .value = "FILTER,...",
	  .help = "remove these filters, as in pid,min-size" },
};
static const struct option_group own_options = OPTION_GROUP("Changes (filters that are not named stay)", own_rows);
static const struct option_group *const options[] = { &own_options, &process_options, &filter_options, NULL };

const struct verb verb_set = {
	.name = "set",
	.run = run,
	.group = VERBS_SESSIONS,
	.synopsis = "NAME FILTERS",
	.summary = "change the filters of a running session",
	.options = options,
	.arguments_min = 1,
	.arguments_max = 1,
};
