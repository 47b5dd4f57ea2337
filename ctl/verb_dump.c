// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "cleanup.h"
#include "output.h"
#include "request.h"
#include "session_output.h"
#include "units.h"
#include "verb.h"

/* Reports that some rows of the requested span had been overwritten, and how far back the others go. */
static void complain_span(struct json_object *dump)
{
	uint64_t from = number_of(dump, "from_mono_ns"), to = number_of(dump, "to_mono_ns");
	char span[32];

	complain("Start it with a larger --flight-recorder, or with fewer streams or more filters.",
		 "the memory of %s reaches back %s only: older rows are overwritten",
		 text_of(dump, "name", "?"), iotr_format_duration(span, sizeof(span), to - from));
}

int verb_dump(struct context *context, struct json_object *parameters, int argc, char **argv)
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
