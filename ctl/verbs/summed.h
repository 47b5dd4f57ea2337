/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace that is read and summed up, for the verbs that show it. One thread. */
#pragma once

#include "command_line/options.h"
#include "reading/summary.h"

struct summed {
	int folder;
	struct verify_trace trace;
	struct verify_report report;
	struct summary *summary;
};

/* The option of how many of each list are shown; `what` says of which, and how many else. */
#define SUMMED_TOP_OPTION(what) \
	{ .name = "top", .kind = OPTION_NUMBER, .parameter = "top", .value = "N", .help = "show so many " what }

enum { SUMMED_TOP_MOST = 10000 }; /* of a list that people read */

/* What it says, or `usual`; at most `most`. */
size_t summed_top(struct json_object *parameters, size_t usual, size_t most);

/*
 * Reads it; `watcher` and `baseline` may be NULL. Returns EXIT_DONE, or EXIT_FAILED after an error was printed. What is wrong with the
 * trace is no error: the report has it. summed_done() must follow.
 */
int summed_read(struct summed *summed, const char *path, const struct summary_watcher *watcher,
		const struct summary_baseline *baseline);

/* The exit code when it was shown. */
int summed_code(const struct summed *summed);

void summed_done(struct summed *summed);
