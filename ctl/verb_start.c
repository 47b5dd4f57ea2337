// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "cleanup.h"
#include "output.h"
#include "request.h"
#include "session_output.h"
#include "unit_names.h"
#include "verb.h"

int verb_start(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	struct json_object *session;
	char streams[256];
	int code;

	take_name(parameters, argc, argv);
	if (!member_of(parameters, "streams"))
		return complain_usage(context, "no stream is named: give --vfs, --block or --all");
	code = request(context, "Start", parameters, &reply);
	if (code != EXIT_DONE)
		return code;

	session = member_of(reply, "session");
	unit_names_check(reply);
	complain_warnings(reply);
	if (context->json)
		print_json(reply);
	else
		put_line(stdout, "%s: recording %s into %s", text_of(session, "name", "?"),
			 join_streams(session, streams, sizeof(streams)),
			 text_of(session, "output", "memory"));
	return complain_missing(session) ? EXIT_PARTLY : EXIT_DONE;
}
