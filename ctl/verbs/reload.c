// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include "cleanup.h"
#include "output/json.h"
#include "request/request.h"

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	int code = request(context, "Reload", parameters, &reply);

	(void)argc, (void)argv;
	if (code == EXIT_DONE && context->json)
		print_json(reply);
	complain_warnings(reply);
	return code;
}

const struct verb verb_reload = {
	.name = "reload",
	.run = run,
	.group = VERBS_MACHINE,
	.synopsis = "",
	.summary = "make the daemon reload its configuration",
};
