/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a trace, as they lie in its folder: while a session runs, its manifest may be behind. Of a file that the
 * manifest calls finished no more is read than it says, and of one that an ended session's manifest does not have nothing.
 * What the manifest has and the folder does not, and the other way round, is told. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "segment_name.h"
#include "trace_rows.h"
#include "verify/report.h"
#include "verify/trace.h"

struct reading_file {
	struct verify_stream *stream;
	enum iotr_stream number; /* of the stream */
	struct segment_name name;
	const struct verify_segment *segment; /* what the manifest says of it; NULL: nothing */
};

struct reading_files {
	struct reading_file *files; /* those of a stream follow each other, in their order */
	size_t count;
};

/*
 * Lists the files of all streams whose bit is set. The streams are borrowed from the trace. What is wrong is said in the
 * report. -ENOMEM.
 */
int reading_files_list(struct verify_trace *trace, uint32_t streams, struct verify_report *report,
		       struct reading_files *files);

/* Takes an all-zero list, too. */
void reading_files_done(struct reading_files *files);

/*
 * Opens the file under the name that it has now. Returns 0, or the errors of trace_rows_open(): what they mean is
 * said in the report. trace_rows_close() must follow.
 */
int reading_open(const struct verify_trace *trace, const struct reading_file *file, struct verify_report *report,
		 struct trace_rows *rows);

/* At the end of a file, or after the error `r` of trace_rows_next(): says what was wrong with it. */
void reading_close(const struct verify_trace *trace, const struct reading_file *file, struct verify_report *report,
		   struct trace_rows *rows, int r);
