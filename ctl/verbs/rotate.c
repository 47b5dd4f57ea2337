// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stdio.h>

#include "cleanup.h"
#include "output/json.h"
#include "output/text.h"
#include "request/request.h"

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	struct json_object *closed;
	int code;

	take_name(parameters, argc, argv);
	code = request(context, "Rotate", parameters, &reply);
	if (code != EXIT_DONE)
		return code;
	closed = member_of(reply, "closed");
	if (context->json)
		print_json(reply);
	for (size_t i = 0; !context->json && i < count_of(closed); i++)
		put_line(stdout, "%s", json_object_get_string(json_object_array_get_idx(closed, i)));
	return complain_failed(reply);
}

const struct verb verb_rotate = {
	.name = "rotate",
	.run = run,
	.group = VERBS_SESSIONS,
	.synopsis = "[NAME]",
	.summary = "close the files of a session, or of all sessions, and begin new ones",
	.arguments_max = 1,
};
