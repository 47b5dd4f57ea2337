// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "help.h"
#include "output.h"
#include "protocol.h"
#include "verb.h"

static const struct option_row version_row[] = {
	{ .name = "version", .kind = OPTION_VERSION, .help = "show the version" },
};
static const struct option_group version_option = { "Version", version_row, 1 };

static const struct option_group *const main_groups[] = { &version_option, NULL };

static char complaint[2 * PATH_MAX]; /* the last error message */

void complain(const char *hint, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(complaint, sizeof(complaint), format, arguments);
	va_end(arguments);
	fflush(stdout);
	fputs("iotracectl: ", stderr);
	put_text(stderr, complaint);
	fputc('\n', stderr);
	if (hint)
		put_line(stderr, "%s", hint);
}

int complain_usage_of(const struct context *context, const char *parameter, const char *format, ...)
{
	const char *verb = context->verb ? context->verb->name : "";
	const char *space = *verb ? " " : "";
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(complaint, sizeof(complaint), format, arguments);
	va_end(arguments);
	put_line(stderr, "iotracectl%s%s: %s", space, verb, complaint);
	fprintf(stderr, "Try 'iotracectl %s%s--help'.\n", verb, space);
	if (context->wants_json)
		print_json_usage(parameter, complaint);
	return EXIT_USAGE;
}

void take_name(struct json_object *parameters, int argc, char **argv)
{
	if (argc)
		json_object_object_add(parameters, "name", json_object_new_string(argv[0]));
}

static int print_version(void)
{
	puts("iotracectl " IOTRACER_VERSION);
	return EXIT_DONE;
}

static int check_count(const struct context *context, int count, char **words)
{
	const struct verb *verb = context->verb;

	if (count < verb->arguments_min)
		return complain_usage(context, "something is missing: %s %s", verb->name,
				      verb->synopsis);
	if (verb->arguments_max >= 0 && count > verb->arguments_max)
		return complain_usage(context, "'%s' is one argument too many",
				      words[verb->arguments_max]);
	return EXIT_DONE;
}

static int run_verb(struct context *context, int count, char **words)
{
	_cleanup_json_ struct json_object *parameters = json_object_new_object();
	const struct verb *verb = context->verb;
	int code;

	code = options_parse(context, verb->groups, verb->ends_options_early, &count, words,
			     parameters);
	if (code != EXIT_DONE)
		return code;
	if (context->help) {
		help_print_verb(verb);
		return EXIT_DONE;
	}
	code = check_count(context, count, words);
	if (code != EXIT_DONE)
		return code;
	code = verb->run(context, parameters, count, words);
	if (context->json && code != EXIT_DONE && code != EXIT_PARTLY && *complaint && !json_printed())
		print_json_failure(complaint);
	return code;
}

/* Whether --json is among the words: an error may come before it is parsed. */
static bool asks_for_json(int count, char **words)
{
	for (int i = 0; i < count && strcmp(words[i], "--"); i++)
		if (!strcmp(words[i], "--json"))
			return true;
	return false;
}

static int run(int count, char **words)
{
	struct context context = {
		.socket = IOTR_SOCKET_PATH,
		.wants_json = asks_for_json(count, words),
	};
	int code = options_parse(&context, main_groups, true, &count, words, NULL);

	if (code != EXIT_DONE)
		return code;
	if (context.version)
		return print_version();
	if (!count && !context.help)
		return complain_usage(&context, "a verb is missing: 'iotracectl help' shows them");
	if (!count) {
		help_print();
		return EXIT_DONE;
	}
	context.verb = verb_find(words[0]);
	if (!context.verb)
		return verb_unknown(&context, words[0]);
	return run_verb(&context, count - 1, words + 1);
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
	verbs_prepare();
	return finish_output(run(argc - 1, argv + 1));
}
