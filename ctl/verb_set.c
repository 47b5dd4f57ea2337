// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "cleanup.h"
#include "output.h"
#include "request.h"
#include "session_output.h"
#include "unit_names.h"
#include "verb.h"

int verb_set(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	int code;

	if (!json_object_object_length(parameters))
		return complain_usage(context, "no filter is given: see iotracectl set --help");
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
