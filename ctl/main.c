// SPDX-License-Identifier: GPL-2.0-or-later
/* From words to a verb and its parameters, and from what it returns to the exit code. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "command_line/find_verb.h"
#include "command_line/help.h"
#include "command_line/options.h"
#include "output/complain.h"
#include "protocol.h"
#include "standard_files.h"
#include "verbs/verbs.h"

static const struct option_row version_rows[] = {
	{ .name = "version", .kind = OPTION_VERSION, .help = "show the version" },
};
static const struct option_group version_options = OPTION_GROUP("Version", version_rows);
static const struct option_group *const main_options[] = { &version_options, NULL };

static int print_version(void)
{
	puts("iotracectl " IOTRACER_VERSION);
	return EXIT_DONE;
}

static int check_count(const struct context *context, int count, char **words)
{
	const struct verb *verb = context->verb;

	if (count < verb->arguments_min)
		return complain_usage(context, "an argument is missing: %s %s", verb->name,
				      verb->synopsis);
	if (verb->arguments_max >= 0 && count > verb->arguments_max)
		return complain_usage(context, "'%s' is one argument too many",
				      words[verb->arguments_max]);
	return EXIT_DONE;
}

/* Which word is "--"; `count` if none is. */
static int find_dashes(int count, char **words)
{
	int at = 0;

	while (at < count && strcmp(words[at], "--") != 0)
		at++;
	return at;
}

/* The command of a verb that takes one behind "--". `*count` is that of all words, and becomes that of those before it. */
static int take_command(const struct context *context, int *count, char **words, int *command_count, char ***command)
{
	int dashes = find_dashes(*count, words);

	*command_count = 0;
	*command = NULL;
	if (dashes == *count)
		return EXIT_DONE;
	*command_count = *count - dashes - 1;
	*command = words + dashes + 1;
	*count = dashes;
	return *command_count ? EXIT_DONE : complain_usage(context, "a command is missing behind '--'");
}

static int run_verb(struct context *context, int count, char **words)
{
	_cleanup_json_ struct json_object *parameters = json_object_new_object();
	const struct verb *verb = context->verb;
	int code = EXIT_DONE, command_count = 0;
	char **command = NULL;

	if (verb->command_last)
		code = take_command(context, &count, words, &command_count, &command);
	if (code == EXIT_DONE)
		code = options_parse(context, verb->options, verb->ends_options_early, &count, words, parameters);
	if (code != EXIT_DONE)
		return code;
	if (context->help) {
		help_print_verb(verb);
		return EXIT_DONE;
	}
	code = check_count(context, count, words);
	if (code != EXIT_DONE)
		return code;
	code = verb->command_last ? verb->run(context, parameters, command_count, command)
				  : verb->run(context, parameters, count, words);
	if (context->json && code != EXIT_DONE && code != EXIT_PARTLY)
		complain_in_json();
	return code;
}

/* Whether --json is among the words: an error may come before it is parsed. */
static bool asks_for_json(int count, char **words)
{
	int dashes = find_dashes(count, words);

	for (int i = 0; i < dashes; i++)
		if (!strcmp(words[i], "--json"))
			return true;
	return false;
}

static int run(int count, char **words)
{
	struct context context = {
		.socket = IOTR_SOCKET_PATH,
		.wants_json = asks_for_json(count, words),
		.verbs = verbs,
	};
	int code = options_parse(&context, main_options, true, &count, words, NULL);

	if (code != EXIT_DONE)
		return code;
	if (context.version)
		return print_version();
	if (!count && !context.help)
		return complain_usage(&context, "a verb is missing: 'iotracectl help' shows them");
	if (!count) {
		help_print(context.verbs);
		return EXIT_DONE;
	}
	context.verb = find_verb(&context, words[0]);
	return context.verb ? run_verb(&context, count - 1, words + 1) : EXIT_USAGE;
}

/* A closed pipe is not a failure of this program, but a full disk is. */
static int finish_output(int code)
{
	if (!fflush(stdout) && !ferror(stdout))
		return code;
	if (errno == EPIPE)
		return code;
	complain(NULL, "cannot write the output: %s", strerror(errno));
	return code ?: EXIT_FAILED;
}

int main(int argc, char **argv)
{
	int r = hold_standard_files();

	if (r < 0) {
		complain(NULL, "cannot open /dev/null: %s", strerror(-r));
		return EXIT_FAILED;
	}
	/* What is printed is UTF-8, whatever the user's locale; this tells how many columns it takes. */
	setlocale(LC_CTYPE, "C.UTF-8");
	return finish_output(run(argc - 1, argv + 1));
}
