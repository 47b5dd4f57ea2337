// SPDX-License-Identifier: GPL-2.0-or-later
#include "help.h"
#include "verb.h"

int verb_help(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	const struct verb *verb;

	(void)parameters;
	if (!argc) {
		help_print();
		return EXIT_DONE;
	}
	verb = verb_find(argv[0]);
	if (!verb)
		return verb_unknown(context, argv[0]);
	help_print_verb(verb);
	return EXIT_DONE;
}
