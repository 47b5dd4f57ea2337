// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <stdio.h>
#include <unistd.h>

#include "cleanup.h"
#include "command_line/session_options.h"
#include "output/json.h"
#include "output/top_groups.h"
#include "request/request.h"
#include "verbs/live.h"
#include "verbs/top_latency.h"

enum { LINES = 20, LINES_ON_SCREEN = 1000 /* can be scrolled */ };

struct view {
	struct json_object *parameters;
	struct connection connection;
	struct top_view show;
	struct live live;
};

static void write_help(struct view *view)
{
	snprintf(view->live.help, sizeof(view->live.help), "s sort:%s  b by:%s  / filter", view->show.sort,
		 view->show.by ?: "all");
}

static bool passes(const char *text, void *userdata)
{
	return live_passes(userdata, text);
}

static size_t print(struct live *live, struct json_object *reply, FILE *picture)
{
	struct view *view = live->userdata;

	write_help(view);
	view->show.width = live_width(live);
	view->show.lines = live->screen && !view->show.wanted_lines ? LINES_ON_SCREEN : view->show.wanted_lines ?: LINES;
	return print_top(&view->show, reply, picture);
}

/* Asks anew, as what was asked for has changed; the daemon ends the session before. */
static int ask(struct view *view)
{
	connection_close(&view->connection);
	view->connection = CONNECTION_NONE;
	return request_more(view->live.context, &view->connection, "Top", view->parameters);
}

static void set_parameter(struct view *view, const char *name, const char *value)
{
	if (value)
		json_object_object_add(view->parameters, name, json_object_new_string(value));
	else
		json_object_object_del(view->parameters, name);
}

/* Of what is there, the greatest may not be all by another order: they are asked for again. */
static int change_order(struct view *view)
{
	bool all = count_of(member_of(view->live.shown, "top")) >= number_of(view->live.shown, "groups");

	view->show.sort = top_next_sort(view->show.sort);
	set_parameter(view, "sort", view->show.sort);
	return all || view->live.paused ? EXIT_DONE : ask(view);
}

static int change_groups(struct view *view)
{
	view->show.by = top_next_by(view->show.by);
	set_parameter(view, "by", view->show.by);
	view->live.paused = false;
	view->live.skip = 0;
	return ask(view);
}

/* Returns EXIT_DONE and `*last`, or the exit code. */
static int step(struct view *view, bool *last)
{
	int code = EXIT_DONE;

	switch (live_wait(&view->live, &view->connection, 0)) {
	case LIVE_REPLY:
		return live_receive(&view->live, &view->connection, last);
	case LIVE_END:
		*last = true;
		return EXIT_DONE;
	case LIVE_KEY:
		if (view->live.key == 's')
			code = change_order(view);
		else if (view->live.key == 'b')
			code = change_groups(view);
		break;
	default:
		break;
	}
	if (code == EXIT_DONE)
		*last = !live_draw(&view->live);
	return code;
}

/* If no stream was chosen, selects vfs: what programs do to files. */
static void choose_streams(struct json_object *parameters)
{
	struct json_object *streams;

	if (member_of(parameters, "streams"))
		return;
	streams = json_object_new_array();
	json_object_array_add(streams, json_object_new_string("vfs"));
	json_object_object_add(parameters, "streams", streams);
}

/* A screen shows what there is room for, and scrolls the rest. */
static void choose_lines(struct view *view)
{
	view->show.wanted_lines = number_of(view->parameters, "count");
	if (!view->show.wanted_lines && !view->live.context->json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		json_object_object_add(view->parameters, "count", json_object_new_int(LINES_ON_SCREEN));
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	struct view view = { .parameters = parameters, .connection = CONNECTION_NONE,
			     .live = { .context = context, .member = "top", .print = print, .userdata = &view,
				       .filters = true } };
	bool last = false;
	int code;

	(void)argc, (void)argv;
	if (member_of(parameters, "latency"))
		return top_latency(context, parameters);
	choose_streams(parameters);
	choose_lines(&view);
	view.show.sort = top_sort_named(text_of(parameters, "sort", "bytes"));
	view.show.by = top_by_named(text_of(parameters, "by", NULL));
	view.show.passes = passes;
	view.show.userdata = &view.live;
	code = request_more(context, &view.connection, "Top", parameters);
	live_begin(&view.live, !context->json);
	while (code == EXIT_DONE && !last)
		code = step(&view, &last);
	live_end(&view.live);
	connection_close(&view.connection);
	return code;
}

static const struct option_row own_rows[] = {
	{ .name = "interval",
	  .kind = OPTION_DURATION,
	  .parameter = "interval_ns",
	  .value = "TIME",
	  .help = "time between updates [1s]" },
	{ .name = "by",
	  .kind = OPTION_CHOICE,
	  .parameter = "by",
	  .value = "process|file|directory|device|unit|container|operation",
	  .help = "sum up by this [by process, operation and file]" },
	{ .name = "sort",
	  .kind = OPTION_CHOICE,
	  .parameter = "sort",
	  .value = "rows|bytes|latency",
	  .help = "sort by this, largest first [bytes]" },
	{ .name = "latency",
	  .kind = OPTION_SWITCH,
	  .parameter = "latency",
	  .help = "show histograms of the latencies of all I/O since it began, counted in the kernel without rows" },
	{ .name = "lines",
	  .kind = OPTION_NUMBER,
	  .parameter = "count",
	  .value = "N",
	  .help = "show at most this number of lines [20; on a terminal all, which it scrolls]" },
};
static const struct option_group own_options = OPTION_GROUP("View", own_rows);
static const struct option_group *const options[] = {
	&stream_options, &process_options, &filter_options, &own_options, NULL
};

const struct verb verb_top = {
	.name = "top",
	.run = run,
	.group = VERBS_LOOK,
	.synopsis = "[STREAMS] [FILTERS] [--by WHAT]",
	.summary = "show which processes do what to which files, until Ctrl-C",
	.options = options,
};
