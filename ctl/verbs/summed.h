/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace that is read and summed up, for the verbs that show it. One thread. */
#pragma once

#include "reading/summary.h"

struct summed {
	int folder;
	struct verify_trace trace;
	struct verify_report report;
	struct summary *summary;
};

/*
 * Reads it; `watcher` may be NULL. Returns EXIT_DONE, or EXIT_FAILED after an error was printed. What is wrong with the
 * trace is no error: the report has it. summed_done() must follow.
 */
int summed_read(struct summed *summed, const char *path, const struct summary_watcher *watcher);

/* The exit code when it was shown. */
int summed_code(const struct summed *summed);

void summed_done(struct summed *summed);
