// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "output/complain.h"
#include "output/json.h"
#include "output/table.h"
#include "request/request.h"

/* Adds the result of trying the operation, in words for people. */
static void add_test(struct table *table, struct json_object *check)
{
	const char *test = text_of(check, "test", "");

	if (!strcmp(test, "rows"))
		table_add(table, STYLE_PLAIN, "%lu %s", number_of(check, "rows"),
			  number_of(check, "rows") == 1 ? "row" : "rows");
	else if (!strcmp(test, "none"))
		table_add(table, STYLE_BAD, "no row");
	else if (!strcmp(test, "unsure"))
		table_add(table, STYLE_PLAIN, "no row, none due");
	else
		table_add(table, STYLE_PLAIN, "%s", *test ? "not tried" : "");
}

/* Prints the checks of operations, whose names begin with a stream and a dot, or all others. */
static void print_checks(struct json_object *checks, bool operations)
{
	struct table table = { .columns = operations ? 4 : 3 };

	for (size_t i = 0; i < count_of(checks); i++) {
		struct json_object *check = json_object_array_get_idx(checks, i);
		bool ok = json_object_get_boolean(member_of(check, "ok"));
		const char *name = text_of(check, "check", "?");

		if (operations != !!strchr(name, '.'))
			continue;
		table_add(&table, ok ? STYLE_GOOD : STYLE_BAD, "%s", ok ? "ok" : "no");
		table_add(&table, STYLE_PLAIN, "%s", name);
		if (operations)
			add_test(&table, check);
		table_add(&table, STYLE_PLAIN, "%s", text_of(check, "detail", ""));
	}
	table_print(&table, stdout);
	table_done(&table);
}

/* Why no operation of any stream can be recorded; NULL: some can. */
static const char *nothing_works(struct json_object *checks)
{
	const char *reason = NULL;

	for (size_t i = 0; i < count_of(checks); i++) {
		struct json_object *check = json_object_array_get_idx(checks, i);

		if (!strchr(text_of(check, "check", ""), '.'))
			continue;
		if (json_object_get_boolean(member_of(check, "ok")))
			return NULL;
		reason = text_of(check, "detail", "");
	}
	return reason;
}

/* Whether an operation that has a hook gave no row although one had to come. */
static bool anything_silent(struct json_object *checks)
{
	for (size_t i = 0; i < count_of(checks); i++)
		if (!strcmp(text_of(json_object_array_get_idx(checks, i), "test", ""), "none"))
			return true;
	return false;
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_json_ struct json_object *reply = NULL;
	struct json_object *checks;
	const char *refusal;
	int code = request(context, "Doctor", parameters, &reply);

	(void)argc, (void)argv;
	if (code != EXIT_DONE)
		return code;
	checks = member_of(reply, "checks");
	if (!checks) /* the daemon ended during the self-test */
		return request_broken(-ECONNRESET);
	refusal = nothing_works(checks);
	if (context->json) {
		print_json(reply);
	} else {
		print_checks(checks, false);
		if (!refusal)
			print_checks(checks, true);
	}
	if (refusal) {
		complain(NULL, "nothing can be recorded on this kernel: %s", refusal);
		return EXIT_PARTLY;
	}
	return anything_silent(checks) ? EXIT_PARTLY : EXIT_DONE;
}

const struct verb verb_doctor = {
	.name = "doctor",
	.run = run,
	.group = VERBS_MACHINE,
	.synopsis = "",
	.summary = "show what this kernel lets the daemon do, and try it",
};
