// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "cleanup.h"
#include "output.h"
#include "request.h"
#include "verb.h"

int verb_rotate(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	struct json_object *closed;
	int code;

	take_name(parameters, argc, argv);
	code = request(context, "Rotate", parameters, &reply);
	if (code != EXIT_DONE)
		return code;
	if (context->json) {
		print_json(reply);
		return EXIT_DONE;
	}
	closed = member_of(reply, "closed");
	for (size_t i = 0; i < count_of(closed); i++)
		put_line(stdout, "%s", json_object_get_string(json_object_array_get_idx(closed, i)));
	return EXIT_DONE;
}
