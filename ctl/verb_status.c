// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "cleanup.h"
#include "output.h"
#include "request.h"
#include "session_output.h"
#include "units.h"
#include "verb.h"

static void print_daemon(struct json_object *reply)
{
	char uptime[32];

	printf("iotracerd %s, process %llu, up %s\n", text_of(reply, "version", "?"),
	       (unsigned long long)number_of(reply, "pid"),
	       iotr_format_duration(uptime, sizeof(uptime),
				    number_of(reply, "uptime") * 1000000000));
}

int verb_status(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	struct json_object *sessions;
	int code;

	take_name(parameters, argc, argv);
	code = request(context, "Status", parameters, &reply);
	if (code != EXIT_DONE)
		return code;
	if (context->json) {
		print_json(reply);
		return EXIT_DONE;
	}
	sessions = member_of(reply, "sessions");
	if (!argc)
		print_daemon(reply);
	if (!count_of(sessions))
		puts("No session is running.");
	for (size_t i = 0; i < count_of(sessions); i++) {
		if (i || !argc)
			putchar('\n');
		print_session(json_object_array_get_idx(sessions, i), stdout);
	}
	return EXIT_DONE;
}
