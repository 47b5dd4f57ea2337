// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include "command_line/find_verb.h"
#include "command_line/help.h"

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	const struct verb *verb;

	(void)parameters;
	if (!argc) {
		help_print(context->verbs);
		return EXIT_DONE;
	}
	verb = find_verb(context, argv[0]);
	if (!verb)
		return EXIT_USAGE;
	help_print_verb(verb);
	return EXIT_DONE;
}

const struct verb verb_help = {
	.name = "help",
	.run = run,
	.group = VERBS_MACHINE,
	.synopsis = "[VERB]",
	.summary = "show all verbs, or the arguments and options of one",
	.arguments_max = 1,
};
