/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces and which of their rows are wanted, for the verbs that pass on rows. One thread. */
#pragma once

#include "command_line/options.h"
#include "reading/merge.h"

enum { CHOSEN_TRACES_MAX = 64 };

struct chosen {
	const struct context *context;
	struct json_object *parameters;
	size_t count;
	struct verify_trace traces[CHOSEN_TRACES_MAX];
	const char *names[CHOSEN_TRACES_MAX]; /* folders, as they were given */
	struct verify_report report;
	struct row_filter filter;
};

/* --since, --until */
extern const struct option_group span_options;

/*
 * Opens the traces, and reads which rows are wanted from the parameters of stream_options, process_options, filter_options
 * and span_options. All is borrowed. Returns an exit code, other than EXIT_DONE after an error was printed. chosen_done()
 * must follow.
 */
int chosen_open(struct chosen *chosen, const struct context *context, struct json_object *parameters, int count,
		char **folders);

void chosen_done(struct chosen *chosen);
