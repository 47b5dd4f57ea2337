// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "command_line/session_options.h"
#include "output/complain.h"
#include "output/json.h"
#include "output/pager.h"
#include "output/text.h"
#include "reading/ranking.h"
#include "reading/rows_print.h"
#include "verbs/chosen.h"
#include "verbs/problems.h"

/* All that one call of the verb has open. */
struct show {
	struct chosen chosen;
	struct rows_printer printer;
	uint64_t limit; /* 0: none */
};

/* ---- what is asked for ---- */

/* Streams that a trace has and the user wants. */
static uint32_t streams_of(const struct show *show)
{
	uint32_t streams = 0;

	for (size_t i = 0; i < show->chosen.count; i++)
		for (size_t j = 0; j < show->chosen.traces[i].stream_count; j++) {
			int stream = iotr_stream_find(show->chosen.traces[i].streams[j].flag);

			streams |= stream < 0 ? 0 : 1U << stream;
		}
	return streams & show->chosen.filter.streams;
}

static int take_form(struct show *show)
{
	const struct context *context = show->chosen.context;
	struct json_object *parameters = show->chosen.parameters;
	enum rows_form form = context->json ? ROWS_JSON : member_of(parameters, "csv") ? ROWS_CSV : ROWS_TEXT;
	const char *columns = text_of(parameters, "columns", NULL), *sort = text_of(parameters, "sort", NULL);
	_cleanup_free_ char *unknown = rows_printer_init(&show->printer, form, streams_of(show), columns,
							 show->chosen.count > 1 ? show->chosen.names : NULL);
	struct rows_printer trial;
	_cleanup_free_ char *unsorted = sort && strcmp(sort, "latency") ?
						rows_printer_init(&trial, form, 0, sort, NULL) : NULL;

	if (unknown)
		return complain_usage_of(context, "columns", "--columns: no stream has a column '%s'", unknown);
	if (unsorted)
		return complain_usage_of(context, "sort", "--sort: no stream has a column '%s'", unsorted);
	show->limit = number_of(parameters, "limit");
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

static void tell_late(struct show *show, struct merge *merge)
{
	char count[32];

	if (merge_late(merge) && !member_of(show->chosen.parameters, "sort"))
		put_line(stderr,
			 "iotracectl: %s rows came late: their operations took longer than what is held in memory to put rows in order",
			 format_count(count, sizeof(count), merge_late(merge)));
}

/* Without a header, as of CSV, nobody could tell that from a program that did nothing. */
static void tell_none(const struct show *show)
{
	if (show->printer.form == ROWS_TEXT && !show->printer.begun)
		put_line(stderr, "iotracectl: no row is of what was asked for");
}

static int print_rows(struct show *show)
{
	struct chosen *chosen = &show->chosen;
	const char *sort = text_of(chosen->parameters, "sort", NULL);
	struct merge *merge = merge_new(chosen->traces, chosen->count, &chosen->filter, &chosen->report);
	int error = merge ? 0 : -ENOMEM, code = EXIT_FAILED;

	if (merge && show->printer.form == ROWS_TEXT && !member_of(chosen->parameters, "no_pager"))
		pager_begin();
	if (merge)
		error = sort ? print_sorted(show, merge, sort) : print_in_order(show, merge);
	if (!error)
		rows_print_end(&show->printer);
	verify_progress_end(&chosen->report);
	pager_end();
	if (error == -EFBIG)
		complain("Give --limit N, or filters.", "the rows to be sorted are more than fit into memory");
	else if (error < 0)
		complain(NULL, "out of memory");
	if (error >= 0) {
		code = complain_problems(&chosen->report);
		tell_late(show, merge);
		tell_none(show);
	}
	if (merge)
		merge_free(merge);
	return code;
}

static int run(struct context *context, struct json_object *parameters, int argc, char **argv)
{
	struct show *show = calloc(1, sizeof(*show));
	int code;

	if (!show) {
		complain(NULL, "out of memory");
		return EXIT_FAILED;
	}
	code = chosen_open(&show->chosen, context, parameters, argc, argv);
	/* A bar between rows on the same terminal would help nobody. */
	show->chosen.report.terminal &= !isatty(STDOUT_FILENO);
	if (code == EXIT_DONE)
		code = take_form(show);
	if (code == EXIT_DONE)
		code = print_rows(show);
	chosen_done(&show->chosen);
	free(show);
	return code;
}

static const struct option_row own_rows[] = {
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
	&stream_options, &process_options, &filter_options, &span_options, &own_options, NULL
};

const struct verb verb_show = {
	.name = "show",
	.run = run,
	.group = VERBS_TRACES,
	.synopsis = "DIR... [STREAMS] [FILTERS] [SPAN] [VIEW]",
	.summary = "show the rows of traces, of all streams in the order of time",
	.options = options,
	.arguments_min = 1,
	.arguments_max = -1,
};
