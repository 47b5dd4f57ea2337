/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is found in a trace: printed at once, or collected for one JSON document; and how far the reading is. One thread. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum verify_weight {
	VERIFY_NOTE,   /* worth knowing */
	/* No row is known to be missing, but something that could be there is not: fails with --strict. */
	VERIFY_CAVEAT,
	VERIFY_LOSS,   /* rows are missing, and the manifest says so */
	VERIFY_WRONG,  /* the trace differs from its manifest */
	VERIFY_WEIGHTS,
};

struct verify_report {
	struct json_object *lists[VERIFY_WEIGHTS]; /* with --json, otherwise NULL */
	uint64_t counts[VERIFY_WEIGHTS];
	bool strict;
	bool terminal; /* progress is shown on stderr */
	uint64_t bytes_total, bytes_done;
	const char *file; /* the file that is being read */
	struct timespec begin, shown;
};

void verify_report_init(struct verify_report *report, bool json, bool strict);
void verify_report_done(struct verify_report *report);

/* What an error of trace_file.h means for the file. */
const char *verify_file_error(int error);

/* Whether a finding of this weight means that the trace is not complete. */
bool verify_fails(const struct verify_report *report, enum verify_weight weight);

/* Adds a finding. `file` is a path within the folder. */
void verify_say(struct verify_report *report, enum verify_weight weight, const char *file,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Adds to the number of bytes of text that have been read. */
void verify_progress(struct verify_report *report, uint64_t bytes);
void verify_progress_end(struct verify_report *report);
double verify_seconds(const struct verify_report *report);
