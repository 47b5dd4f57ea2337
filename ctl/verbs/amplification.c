// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "command_line/options.h"
#include "output/amplification.h"
#include "output/complain.h"
#include "output/interrupt.h"
#include "output/json.h"
#include "request/request.h"
#include "units.h"
#include "verbs/amplification_command.h"
#include "verbs/live.h"

#define DURATION_NS 5000000000ULL /* for which is counted if nothing is said of it */
#define PROGRESS_NS 1000000000ULL

struct view {
	struct context *context;
	struct json_object *parameters;
	bool csv;
	bool watch;	      /* each reply is shown, not only the last one */
	uint64_t duration_ns; /* 0: until it is interrupted */
};

static void print(const struct view *view, struct json_object *reply, FILE *stream)
{
	if (view->csv)
		print_amplification_csv(reply, stream);
	else
		print_amplification(reply, stream);
}

static void show(const struct view *view, struct json_object *reply)
{
	if (view->context->json)
		print_json(reply);
	else
		print(view, reply, stdout);
}

static size_t print_picture(struct live *live, struct json_object *reply, FILE *picture)
{
	print(live->userdata, reply, picture);
	return 0;
}

/* On a terminal, in a line that is overwritten each time. */
static void show_progress(const struct view *view, struct json_object *reply)
{
	char now[32], whole[32];

	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r\033[Kcounted %s of %s; Ctrl-C ends it early",
		iotr_format_duration(now, sizeof(now), number_of(reply, "duration_ns") / PROGRESS_NS * PROGRESS_NS),
		iotr_format_duration(whole, sizeof(whole), view->duration_ns));
	fflush(stderr);
}

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* Shows each reply, until the user or the daemon ends it. */
static int watch(struct view *view)
{
	_cleanup_(connection_close) struct connection connection = CONNECTION_NONE;
	struct live live = { .context = view->context, .print = print_picture, .userdata = view };
	int code = request_more(view->context, &connection, "Amplification", view->parameters);

	if (code != EXIT_DONE)
		return code;
	live_begin(&live, !view->context->json && !view->csv);
	code = live_follow(&live, &connection);
	live_end(&live);
	return code;
}

/* Shows what was counted when it is over. */
static int follow(const struct view *view)
{
	_cleanup_(connection_close) struct connection connection = CONNECTION_NONE;
	_cleanup_json_ struct json_object *latest = NULL;
	bool last = false;
	int code = request_more(view->context, &connection, "Amplification", view->parameters);

	interrupt_catch();
	while (code == EXIT_DONE && !last && !interrupt_came()) {
		struct json_object *reply = NULL;

		code = request_next(view->context, &connection, &reply, &last);
		if (code != EXIT_DONE || !reply)
			break;
		json_object_put(latest);
		latest = reply;
		if (!last)
			show_progress(view, reply);
	}
	clear_progress();
	if (code != EXIT_DONE)
		return code;
	if (!latest) {
		complain(NULL, "nothing was counted yet");
		return EXIT_FAILED;
	}
	show(view, latest);
	return EXIT_DONE;
}

/* Whether the error is that it is not counted all the time, so that a time has to be given. */
static bool wants_duration(struct json_object *message)
{
	const char *error = request_error(message);

	return error && !strcmp(error, VARLINK_INVALID_PARAMETER) &&
	       !strcmp(text_of(member_of(message, "parameters"), "parameter", ""), "duration_ns");
}

/* Shows what has been counted all the time. `*counted`: it is. */
static int show_so_far(const struct view *view, bool *counted)
{
	_cleanup_(connection_close) struct connection connection = CONNECTION_NONE;
	_cleanup_json_ struct json_object *message = NULL, *reply = NULL;
	int code = request_connect(view->context, &connection), r;

	*counted = true;
	if (code != EXIT_DONE)
		return code;
	r = connection_send(&connection, IOTR_INTERFACE ".Amplification", view->parameters, false);
	if (r >= 0)
		r = connection_receive(&connection, &message);
	if (r < 0)
		return request_broken(r);
	*counted = !wants_duration(message);
	if (!*counted)
		return EXIT_DONE;
	code = request_open_reply(view->context, message, &reply);
	if (code == EXIT_DONE)
		show(view, reply);
	return code;
}

static void set_time(struct json_object *parameters, const char *key, uint64_t ns)
{
	json_object_object_add(parameters, key, json_object_new_int64((int64_t)ns));
}

static void show_command(struct json_object *reply, const void *userdata)
{
	show(userdata, reply);
}

/* What a command does, and the machine meanwhile. */
static int run_command(const struct view *view, char **command, bool wait)
{
	static const char *const excluded[] = { "duration", "watch", "system" };
	const bool given[] = { view->duration_ns, view->watch, member_of(view->parameters, "systems") };

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		if (given[i])
			return complain_usage_of(view->context, excluded[i], "--%s and a command exclude each other",
						 excluded[i]);
	return amplification_command(view->context, view->parameters, command, wait, show_command, view);
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	struct view view = { .context = context, .parameters = parameters,
			     .csv = member_of(parameters, "csv") != NULL,
			     .watch = context->interval_ns,
			     .duration_ns = number_of(parameters, "duration_ns") };
	bool counted = false, wait = member_of(parameters, "wait");
	int code = EXIT_DONE;

	if (view.csv && context->json)
		return complain_usage(context, "--csv and --json exclude each other");
	json_object_object_del(parameters, "csv");
	json_object_object_del(parameters, "wait");
	if (argc)
		return run_command(&view, argv, wait);
	if (wait)
		return complain_usage_of(context, "wait", "--wait needs a command: -- COMMAND [ARGUMENT...]");
	if (context->settle_ns)
		return complain_usage_of(context, "settle", "--settle needs a command: -- COMMAND [ARGUMENT...]");
	if (view.watch) {
		set_time(parameters, "interval_ns", context->interval_ns);
		return watch(&view);
	}
	if (!view.duration_ns)
		code = show_so_far(&view, &counted);
	if (code != EXIT_DONE || counted)
		return code;
	view.duration_ns = view.duration_ns ?: DURATION_NS;
	set_time(parameters, "duration_ns", view.duration_ns);
	set_time(parameters, "interval_ns", PROGRESS_NS);
	return follow(&view);
}

static const struct option_row count_rows[] = {
	{ .name = "duration",
	  .kind = OPTION_DURATION,
	  .parameter = "duration_ns",
	  .value = "TIME",
	  .help = "count for so long [5s; since it is counted all the time, where the daemon does]" },
	{ .name = "watch",
	  .kind = OPTION_INTERVAL,
	  .value = "TIME",
	  .help = "show it again at this interval [1s], over all since the begin, until Ctrl-C or --duration" },
	{ .name = "wait",
	  .kind = OPTION_SWITCH,
	  .parameter = "wait",
	  .help = "when the command has ended, wait until all processes that it started have, too" },
	{ .name = "settle",
	  .kind = OPTION_SETTLE,
	  .value = "TIME",
	  .help = "when the command has ended, wait until what is dirty is written, for 30s or this time at most" },
};
static const struct option_row own_rows[] = {
	{ .name = "by",
	  .kind = OPTION_CHOICE,
	  .parameter = "by",
	  .value = "system|process|unit|container|device",
	  .help = "sum up by this [system; of a command all of it]" },
	{ .name = "system",
	  .kind = OPTION_TEXTS,
	  .parameter = "systems",
	  .value = "NAME,...",
	  .help = "only these storage systems, as PostgreSQL, with their children" },
	{ .name = "lines",
	  .kind = OPTION_NUMBER,
	  .parameter = "count",
	  .value = "N",
	  .help = "show those with the most bytes [20], and the sum of the others" },
	{ .name = "csv", .kind = OPTION_SWITCH, .parameter = "csv", .help = "print CSV, latencies in microseconds" },
};
static const struct option_group count_options = OPTION_GROUP("Counting", count_rows);
static const struct option_group own_options = OPTION_GROUP("View", own_rows);
static const struct option_group *const options[] = { &count_options, &own_options, NULL };

const struct verb verb_amplification = {
	.name = "amplification",
	.run = run,
	.group = VERBS_LOOK,
	.synopsis = "[--by WHAT] [--duration TIME | -- COMMAND [ARGUMENT...]]",
	.summary = "count how often I/O multiplies on its way down to the disks",
	.options = options,
	.command_last = true,
};
