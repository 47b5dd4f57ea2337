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
#include "units.h"

/* Reports that some rows of the requested span had been overwritten, and how far back the others go. */
static void complain_span(struct json_object *dump)
{
	uint64_t from = number_of(dump, "from_mono_ns"), to = number_of(dump, "to_mono_ns");
	char span[32];

	complain("Start it with a larger --flight-recorder, or with fewer streams or more filters.",
		 "the memory of %s reaches back %s only: older rows are overwritten",
		 text_of(dump, "name", "?"), iotr_format_duration(span, sizeof(span), to - from));
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	struct json_object *dump;
	int code;

	take_name(parameters, argc, argv);
	code = request(context, "Dump", parameters, &reply);
	if (code != EXIT_DONE)
		return code;
	dump = member_of(reply, "dump");
	if (context->json) {
		print_json(reply);
	} else {
		put_line(stdout, "%s: dumped into %s", text_of(dump, "name", "?"),
			 text_of(dump, "output", "?"));
		print_session_streams(dump, stdout);
	}
	if (member_of(parameters, "last_ns") && !json_object_get_boolean(member_of(dump, "whole")))
		complain_span(dump);
	return session_lost(dump) ? EXIT_FAILED : EXIT_DONE;
}

static const struct option_row own_rows[] = {
	{ .name = "last",
	  .kind = OPTION_DURATION,
	  .parameter = "last_ns",
	  .value = "TIME",
	  .help = "only operations that ended in this last time, such as 60s [all in memory]" },
	{ .name = "output",
	  .kind = OPTION_PATH,
	  .parameter = "output",
	  .value = "DIR",
	  .help = "folder for the files, empty or new" },
};
static const struct option_group own_options = OPTION_GROUP("Dump", own_rows);
static const struct option_group *const options[] = { &own_options, NULL };

const struct verb verb_dump = {
	.name = "dump",
	.run = run,
	.group = VERBS_SESSIONS,
	.synopsis = "NAME [--last TIME] [--output DIR]",
	.summary = "write the rows in a flight recorder's memory to files",
	.options = options,
	.arguments_min = 1,
	.arguments_max = 1,
};
