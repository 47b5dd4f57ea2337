// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "command_line/session_options.h"
#include "output/complain.h"
#include "output/json.h"
#include "output/pager.h"
#include "output/text.h"
#include "reading/ranking.h"
#include "reading/rows_print.h"
#include "reading/time_text.h"
#include "verify/manifest.h"
#include "verify/verify.h"

enum { TRACES_MAX = 64 };

/* All that one call of the verb has open. */
struct show {
	const struct context *context;
	struct json_object *parameters;
	size_t count;
	struct verify_trace traces[TRACES_MAX];
	const char *names[TRACES_MAX];
	struct verify_report report;
	struct row_filter filter;
	struct rows_printer printer;
	uint64_t limit; /* 0: none */
};

/* ---- traces ---- */

static int complain_of(const char *path, const struct verify_report *report)
{
	struct json_object *first = json_object_array_get_idx(report->lists[VERIFY_WRONG], 0);

	complain("Give the folder of a trace, the one with manifest.json.", "%s/%s: %s", path,
		 text_of(first, "file", MANIFEST_NAME), text_of(first, "what", "it cannot be read"));
	return EXIT_FAILED;
}

static int open_traces(struct show *show, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		struct verify_trace *trace = &show->traces[i];

		*trace = (struct verify_trace){ .folder_fd = verify_open(argv[i]) };
		show->names[i] = argv[i];
		show->count++;
		if (trace->folder_fd < 0)
			return EXIT_FAILED;
		if (!verify_manifest_read(trace, &show->report))
			return complain_of(argv[i], &show->report);
	}
	return EXIT_DONE;
}

static void close_traces(struct show *show)
{
	for (size_t i = 0; i < show->count; i++) {
		int fd = show->traces[i].folder_fd;

		verify_trace_done(&show->traces[i]);
		if (fd >= 0)
			close(fd);
	}
}

/* ---- what is asked for ---- */

static int take_time(struct show *show, const char *parameter, char ret[TIME_TEXT_SIZE])
{
	const char *text = text_of(show->parameters, parameter, NULL);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (text && time_text_parse(text, text_of(show->traces[0].json, "started", ""),
				    (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, ret) < 0)
		return complain_usage_of(show->context, parameter,
					 "--%s: '%s' is no time: write '2026-11-21 12:24:10', 12:24:10, +5s (after the trace "
					 "began) or -10m (before now)", parameter, text);
	return EXIT_DONE;
}

static int take_filter(struct show *show)
{
	char message[FILTER_MESSAGE_SIZE];
	const char *parameter;
	int code;

	if (row_filter_init(&show->filter, show->parameters, &parameter, message) < 0) {
		const struct option_row *option = options_find(show->context->verb->options, parameter);

		return complain_usage_of(show->context, parameter, "--%s: %s", option ? option->name : parameter, message);
	}
	code = take_time(show, "since", show->filter.since);
	return code != EXIT_DONE ? code : take_time(show, "until", show->filter.until);
}

/* Streams that a trace has and the user wants. */
static uint32_t streams_of(const struct show *show)
{
	uint32_t streams = 0;

	for (size_t i = 0; i < show->count; i++)
		for (size_t j = 0; j < show->traces[i].stream_count; j++) {
			int stream = iotr_stream_find(show->traces[i].streams[j].flag);

			streams |= stream < 0 ? 0 : 1U << stream;
		}
	return streams & show->filter.streams;
}

static int take_form(struct show *show)
{
	enum rows_form form = show->context->json ? ROWS_JSON : member_of(show->parameters, "csv") ? ROWS_CSV : ROWS_TEXT;
	const char *columns = text_of(show->parameters, "columns", NULL), *sort = text_of(show->parameters, "sort", NULL);
	_cleanup_free_ char *unknown = rows_printer_init(&show->printer, form, streams_of(show), columns,
							 show->count > 1 ? show->names : NULL);
	struct rows_printer trial;
	_cleanup_free_ char *unsorted = sort && strcmp(sort, "latency") ?
						rows_printer_init(&trial, form, 0, sort, NULL) : NULL;

	if (unknown)
		return complain_usage_of(show->context, "columns", "--columns: no stream has a column '%s'", unknown);
	if (unsorted)
		return complain_usage_of(show->context, "sort", "--sort: no stream has a column '%s'", unsorted);
	show->limit = number_of(show->parameters, "limit");
	return EXIT_DONE;
}

/* ---- rows ---- */

static int print_in_order(struct show *show, struct merge *merge)
{
	struct merged_row *row;
	int error = 0;

	for (uint64_t shown = 0; (!show->limit || shown < show->limit) && !ferror(stdout); shown++) {
		row = merge_next(merge, &error);
		if (!row)
			break;
		rows_print(&show->printer, row);
		free(row);
	}
	return error;
}

static int print_sorted(struct show *show, struct merge *merge, const char *column)
{
	struct ranking ranking = { .column = column, .limit = show->limit };
	struct merged_row *row;
	int error = 0;

	while (error >= 0 && (row = merge_next(merge, &error)))
		error = ranking_add(&ranking, row);
	if (error >= 0) {
		ranking_sort(&ranking);
		for (size_t i = 0; i < ranking.count && !ferror(stdout); i++)
			rows_print(&show->printer, ranking.rows[i].row);
	}
	ranking_done(&ranking);
	return error;
}

static void tell_problems(struct show *show, struct merge *merge)
{
	struct json_object *list = show->report.lists[VERIFY_WRONG];
	char count[32];

	for (size_t i = 0; i < count_of(list); i++) {
		struct json_object *problem = json_object_array_get_idx(list, i);

		complain(NULL, "%s: %s", text_of(problem, "file", ""), text_of(problem, "what", ""));
	}
	if (merge_late(merge) && !member_of(show->parameters, "sort"))
		put_line(stderr,
			 "iotracectl: %s rows came late: their operations took longer than what is held in memory to put rows in order",
			 format_count(count, sizeof(count), merge_late(merge)));
}

static int print_rows(struct show *show)
{
	const char *sort = text_of(show->parameters, "sort", NULL);
	struct merge *merge = merge_new(show->traces, show->count, &show->filter, &show->report);
	int error = merge ? 0 : -ENOMEM;

	if (merge && show->printer.form == ROWS_TEXT && !member_of(show->parameters, "no_pager"))
		pager_begin();
	if (merge)
		error = sort ? print_sorted(show, merge, sort) : print_in_order(show, merge);
	if (!error)
		rows_print_end(&show->printer);
	verify_progress_end(&show->report);
	pager_end();
	if (error == -EFBIG)
		complain("Give --limit N, or filters.", "the rows to be sorted are more than fit into memory");
	else if (error < 0)
		complain(NULL, "out of memory");
	else
		tell_problems(show, merge);
	if (merge)
		merge_free(merge);
	return error < 0 || show->report.counts[VERIFY_WRONG] ? EXIT_FAILED : EXIT_DONE;
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	struct show *show = calloc(1, sizeof(*show));
	int code;

	if (!show)
		return EXIT_FAILED;
	if (argc > TRACES_MAX) {
		free(show);
		return complain_usage(context, "more than %d traces are given", TRACES_MAX);
	}
	show->context = context;
	show->parameters = parameters;
	verify_report_init(&show->report, true, false);
	/* A bar between rows on the same terminal would help nobody. */
	show->report.terminal &= !isatty(STDOUT_FILENO);
	code = open_traces(show, argc, argv);
	if (code == EXIT_DONE)
		code = take_filter(show);
	if (code == EXIT_DONE)
		code = take_form(show);
	if (code == EXIT_DONE)
		code = print_rows(show);
	row_filter_done(&show->filter);
	close_traces(show);
	verify_report_done(&show->report);
	free(show);
	return code;
}

static const struct option_row own_rows[] = {
	{ .name = "since",
	  .kind = OPTION_TEXT,
	  .parameter = "since",
	  .value = "TIME",
	  .help = "rows from then on, UTC: '2026-11-21 12:24:10', 12:24, +5s after the trace began, -10m before now" },
	{ .name = "until", .kind = OPTION_TEXT, .parameter = "until", .value = "TIME", .help = "rows until then" },
	{ .name = "columns",
	  .kind = OPTION_TEXT,
	  .parameter = "columns",
	  .value = "NAME,...",
	  .help = "only these columns, also 'stream' and 'trace'" },
	{ .name = "sort",
	  .kind = OPTION_TEXT,
	  .parameter = "sort",
	  .value = "COLUMN",
	  .help = "greatest first, such as latency, in place of the order of time" },
	{ .name = "limit", .kind = OPTION_COUNT, .parameter = "limit", .value = "N", .help = "at most so many rows" },
	{ .name = "csv", .kind = OPTION_SWITCH, .parameter = "csv", .help = "print CSV" },
	{ .name = "no-pager", .kind = OPTION_SWITCH, .parameter = "no_pager", .help = "do not start a pager on a terminal" },
};
static const struct option_group own_options = OPTION_GROUP("View (--json prints an object a line)", own_rows);
static const struct option_group *const options[] = {
	&stream_options, &process_options, &filter_options, &own_options, NULL
};

const struct verb verb_show = {
	.name = "show",
	.run = run,
	.group = VERBS_TRACES,
	.synopsis = "DIR... [STREAMS] [FILTERS] [VIEW]",
	.summary = "show the rows of traces, of all streams in the order of time",
	.options = options,
	.arguments_min = 1,
	.arguments_max = -1,
};
