// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "cleanup.h"
#include "output.h"
#include "request.h"
#include "verb.h"

static void print_checks(struct json_object *checks)
{
	struct table table = { .columns = 3 };

	for (size_t i = 0; i < count_of(checks); i++) {
		struct json_object *check = json_object_array_get_idx(checks, i);
		bool ok = json_object_get_boolean(member_of(check, "ok"));

		table_add(&table, ok ? STYLE_GOOD : STYLE_BAD, "%s", ok ? "ok" : "no");
		table_add(&table, STYLE_PLAIN, "%s", text_of(check, "check", "?"));
		table_add(&table, STYLE_PLAIN, "%s", text_of(check, "detail", ""));
	}
	table_print(&table, stdout);
	table_done(&table);
}

int verb_doctor(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	int code = request(context, "Doctor", parameters, &reply);

	(void)argc, (void)argv;
	if (code != EXIT_DONE)
		return code;
	if (context->json)
		print_json(reply);
	else
		print_checks(member_of(reply, "checks"));
	return EXIT_DONE;
}
