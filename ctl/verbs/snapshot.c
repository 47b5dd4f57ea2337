// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "command_line/options.h"
#include "output/complain.h"
#include "output/json.h"
#include "output/text.h"
#include "request/request.h"
#include "units.h"

static bool is_kind(const char *word)
{
	static const char *const kinds[] = { "system", "process", "filesystem", "all" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i], word))
			return true;
	return false;
}

/* Parses [KIND] [NAME]: a first word that is not a kind is a session's name. */
static int take_arguments(const struct context *context, struct json_object *parameters, int argc,
			  char **argv)
{
	if (argc && is_kind(argv[0])) {
		json_object_object_add(parameters, "kind", json_object_new_string(argv[0]));
		argc--, argv++;
	}
	if (argc > 1)
		return complain_usage(context, "'%s' is none of system, process, filesystem, all",
				      argv[0]);
	if (argc && member_of(parameters, "output"))
		return complain_usage(context, "a session has its own folder: give a name or --output");
	take_name(parameters, argc, argv);
	return EXIT_DONE;
}

/* Shows progress on a terminal, in a line that is overwritten each time. */
static void show_progress(struct json_object *progress)
{
	char count[32];

	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r\033[K%s: %s rows so far", text_of(progress, "kind", "?"),
		format_count(count, sizeof(count), number_of(progress, "rows")));
	fflush(stderr);
}

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* Prints the snapshot. Returns whether it is complete. */
static bool print_snapshot(struct json_object *snapshot, const char *output)
{
	const char *path = text_of(snapshot, "path", NULL), *message = text_of(snapshot, "message", NULL);
	char count[32], size[32];

	if (path) {
		put_text(stdout, output);
		putchar('/');
		put_text(stdout, path);
		if (number_of(snapshot, "rows"))
			printf(" (%s rows, %s)",
			       format_count(count, sizeof(count), number_of(snapshot, "rows")),
			       iotr_format_size(size, sizeof(size), number_of(snapshot, "stored_bytes")));
		putchar('\n');
	}
	if (message)
		complain(NULL, "%s: %s", text_of(snapshot, "kind", "?"), message);
	return path;
}

static int print_reply(const struct context *context, struct json_object *reply)
{
	struct json_object *snapshots = member_of(reply, "snapshots");
	int code = EXIT_DONE;

	if (context->json)
		print_json(reply);
	for (size_t i = 0; i < count_of(snapshots); i++) {
		struct json_object *snapshot = json_object_array_get_idx(snapshots, i);
		bool there = context->json ? member_of(snapshot, "path") != NULL
					   : print_snapshot(snapshot, text_of(reply, "output", "?"));

		if (!there)
			code = EXIT_PARTLY;
	}
	return code;
}

/* Receives replies with progress, then the last one. Returns EXIT_DONE and `*last`, or the exit code. */
static int receive(const struct context *context, struct connection *connection,
		   struct json_object **last)
{
	while (!*last) {
		_cleanup_json_ struct json_object *message = NULL, *parameters = NULL;
		struct json_object *progress;
		int r = connection_receive(connection, &message), code;

		if (r == -EINTR)
			continue;
		if (r < 0)
			return request_broken(r);
		code = request_open_reply(context, message, &parameters);
		if (code != EXIT_DONE)
			return code;
		progress = member_of(parameters, "progress");
		if (progress)
			show_progress(progress);
		else
			*last = json_object_get(parameters);
	}
	clear_progress();
	return EXIT_DONE;
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	_cleanup_(connection_close) struct connection connection = CONNECTION_NONE;
	_cleanup_json_ struct json_object *reply = NULL;
	int code = take_arguments(context, parameters, argc, argv);

	if (code == EXIT_DONE)
		code = request_more(context, &connection, "Snapshot", parameters);
	if (code != EXIT_DONE)
		return code;
	code = receive(context, &connection, &reply);
	return code == EXIT_DONE ? print_reply(context, reply) : code;
}

static const struct option_row own_rows[] = {
	{ .name = "root",
	  .kind = OPTION_PATH,
	  .parameter = "root",
	  .value = "DIR",
	  .help = "folder where the snapshot of files begins [/]" },
	{ .name = "depth",
	  .kind = OPTION_NUMBER,
	  .parameter = "depth",
	  .value = "N",
	  .help = "number of levels below it that are read [3]" },
	{ .name = "output",
	  .kind = OPTION_PATH,
	  .parameter = "output",
	  .value = "DIR",
	  .help = "folder for the files, empty or new" },
	{ .name = "anonymize",
	  .kind = OPTION_KEY,
	  .parameter = "anonymize",
	  .value = "session|host",
	  .help = "hash names and addresses, with a key of the snapshots' own or the host's [session]" },
};
static const struct option_group own_options = OPTION_GROUP("Snapshot", own_rows);
static const struct option_group *const options[] = { &own_options, NULL };

const struct verb verb_snapshot = {
	.name = "snapshot",
	.run = run,
	.group = VERBS_LOOK,
	.synopsis = "[system|process|filesystem|all] [NAME] [--root DIR] [--depth N] [--output DIR] [--anonymize]",
	.summary = "record the present state of the machine, its processes and its files",
	.options = options,
	.arguments_max = 2,
};
