// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "output.h"
#include "protocol.h"
#include "verb.h"

static const struct option_row version_row[] = {
	{ .name = "version", .kind = OPTION_VERSION, .help = "show the version" },
};
static const struct option_group version_option = { "Version", version_row, 1 };

static const struct option_group *const main_groups[] = { &version_option, NULL };

static char complaint[2 * PATH_MAX]; /* the last one */

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
		fprintf(stderr, "%s\n", hint);
}

int complain_usage(const struct context *context, const char *format, ...)
{
	const char *verb = context->verb ? context->verb->name : "";
	va_list arguments;

	fprintf(stderr, "iotracectl%s%s: ", *verb ? " " : "", verb);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\nTry 'iotracectl %s%s--help'.\n", verb, *verb ? " " : "");
	return EXIT_USAGE;
}

void take_name(struct json_object *parameters, int argc, char **argv)
{
	if (argc)
		json_object_object_add(parameters, "name", json_object_new_string(argv[0]));
}

static int print_help(void)
{
	puts("Usage: iotracectl [OPTION...] VERB [ARGUMENT...]\n"
	     "\n"
	     "Controls iotracerd, which records what the I/O of this machine does.\n"
	     "\n"
	     "Verbs (each has a --help of its own):");
	for (size_t i = 0; i < verb_count; i++)
		printf("  %-10s %s\n", verbs[i].name, verbs[i].summary);
	options_print_help(&global_options);
	puts("\n"
	     "Exit codes: 0 done, 1 failed, 2 usage, 3 daemon not reachable, 4 not permitted,\n"
	     "5 no such session, 6 done in part.");
	return EXIT_DONE;
}

static int print_verb_help(const struct verb *verb)
{
	printf("Usage: iotracectl %s%s%s\n\n", verb->name, *verb->synopsis ? " " : "",
	       verb->synopsis);
	printf("%c%s.\n", verb->summary[0] - 'a' + 'A', verb->summary + 1);
	for (const struct option_group *const *group = verb->groups; group && *group; group++)
		options_print_help(*group);
	options_print_help(&global_options);
	return EXIT_DONE;
}

static int print_version(void)
{
	puts("iotracectl " IOTRACER_VERSION);
	return EXIT_DONE;
}

static int check_count(const struct context *context, int count, char **argv)
{
	const struct verb *verb = context->verb;

	if (count < verb->arguments_min)
		return complain_usage(context, "something is missing: %s %s", verb->name,
				      verb->synopsis);
	if (verb->arguments_max >= 0 && count > verb->arguments_max)
		return complain_usage(context, "'%s' is one argument too many",
				      argv[verb->arguments_max]);
	return EXIT_DONE;
}

static int run_verb(struct context *context, int argc, char **argv)
{
	_cleanup_json_ struct json_object *parameters = json_object_new_object();
	const struct verb *verb = context->verb;
	static char name[64];
	int first, code;

	snprintf(name, sizeof(name), "iotracectl %s", verb->name);
	argv[0] = name; /* getopt begins its complaints with it */
	code = options_parse(context, verb->groups, verb->ends_options_early, argc, argv,
			     parameters, &first);
	if (code != EXIT_DONE)
		return code;
	if (context->help)
		return print_verb_help(verb);
	code = check_count(context, argc - first, argv + first);
	if (code != EXIT_DONE)
		return code;
	code = verb->run(context, parameters, argc - first, argv + first);
	if (context->json && code != EXIT_DONE && code != EXIT_PARTLY && *complaint && !json_printed())
		print_json_failure(complaint);
	return code;
}

static int run(int argc, char **argv)
{
	struct context context = { .socket = IOTR_SOCKET_PATH };
	int first, code;

	code = options_parse(&context, main_groups, true, argc, argv, NULL, &first);
	if (code != EXIT_DONE)
		return code;
	if (context.version)
		return print_version();
	if (first == argc)
		return context.help ? print_help() : complain_usage(&context, "a verb is missing");
	context.verb = verb_find(argv[first]);
	if (!context.verb)
		return complain_usage(&context, "there is no verb '%s'", argv[first]);
	return run_verb(&context, argc - first, argv + first);
}

/* A reader that went away is no failure of ours; a full disk is. */
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
	return finish_output(run(argc, argv));
}
