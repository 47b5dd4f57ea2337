// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/chosen.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "output/complain.h"
#include "output/json.h"
#include "reading/time_text.h"
#include "verbs/problems.h"
#include "verify/manifest.h"
#include "verify/verify.h"

/* ---- traces ---- */

static int open_traces(struct chosen *chosen, int count, char **folders)
{
	for (int i = 0; i < count; i++) {
		struct verify_trace *trace = &chosen->traces[i];

		*trace = (struct verify_trace){ .folder_fd = verify_open(folders[i]) };
		chosen->names[i] = folders[i];
		chosen->count++;
		if (trace->folder_fd < 0)
			return EXIT_FAILED;
		if (!verify_manifest_read(trace, &chosen->report))
			return complain_no_trace(folders[i], &chosen->report);
	}
	return EXIT_DONE;
}

static void close_traces(struct chosen *chosen)
{
	for (size_t i = 0; i < chosen->count; i++) {
		int fd = chosen->traces[i].folder_fd;

		verify_trace_done(&chosen->traces[i]);
		if (fd >= 0)
			close(fd);
	}
}

/* ---- what is asked for ---- */

static int take_time(struct chosen *chosen, const char *parameter, char ret[TIME_TEXT_SIZE])
{
	const char *text = text_of(chosen->parameters, parameter, NULL);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (text && time_text_parse(text, text_of(chosen->traces[0].json, "started", ""),
				    (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, ret) < 0)
		return complain_usage_of(chosen->context, parameter,
					 "--%s: '%s' is no time: write '2026-11-21 12:24:10', 12:24:10, +5s (after the trace "
					 "began) or -10m (before now)", parameter, text);
	return EXIT_DONE;
}

static int take_filter(struct chosen *chosen)
{
	char message[FILTER_MESSAGE_SIZE];
	const char *parameter;
	int code;

	if (row_filter_init(&chosen->filter, chosen->parameters, &parameter, message) < 0) {
		const struct option_row *option = options_find(chosen->context->verb->options, parameter);

		return complain_usage_of(chosen->context, parameter, "--%s: %s", option ? option->name : parameter, message);
	}
	code = take_time(chosen, "since", chosen->filter.since);
	return code != EXIT_DONE ? code : take_time(chosen, "until", chosen->filter.until);
}

/* ---- the whole ---- */

int chosen_open(struct chosen *chosen, const struct context *context, struct json_object *parameters, int count,
		char **folders)
{
	int code;

	*chosen = (struct chosen){ .context = context, .parameters = parameters };
	verify_report_init(&chosen->report, true, false);
	if (count > CHOSEN_TRACES_MAX)
		return complain_usage(context, "more than %d traces are given", CHOSEN_TRACES_MAX);
	code = open_traces(chosen, count, folders);
	return code == EXIT_DONE ? take_filter(chosen) : code;
}

void chosen_done(struct chosen *chosen)
{
	row_filter_done(&chosen->filter);
	close_traces(chosen);
	verify_report_done(&chosen->report);
}

static const struct option_row span_rows[] = {
	{ .name = "since",
	  .kind = OPTION_TEXT,
	  .parameter = "since",
	  .value = "TIME",
	  .help = "rows from then on, UTC: '2026-11-21 12:24:10', 12:24, +5s after the trace began, -10m before now" },
	{ .name = "until", .kind = OPTION_TEXT, .parameter = "until", .value = "TIME", .help = "rows until then" },
};
const struct option_group span_options = OPTION_GROUP("Span of time", span_rows);
