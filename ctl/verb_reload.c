// SPDX-License-Identifier: GPL-2.0-or-later
#include "cleanup.h"
#include "output.h"
#include "request.h"
#include "verb.h"

int verb_reload(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	int code = request(context, "Reload", parameters, &reply);

	(void)argc, (void)argv;
	if (code == EXIT_DONE && context->json)
		print_json(reply);
	complain_warnings(reply);
	return code;
}
