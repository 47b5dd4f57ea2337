/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows to files, by a writer. The sink exists from the session's first moment, its writer only when the folder
 * is open; until then nothing is attached, and all counts are 0. Main thread.
 */
#pragma once

#include "session_spec.h"
#include "session/lingering.h"
#include "session/row_sink.h"

struct file_sink {
	struct row_sink base;
	struct writer *writer; /* NULL: the folder is not open yet, or the disk was given up */
	struct trace *trace;   /* of the writer */
	const struct iotr_session_spec *spec; /* of the session, as it is now */
	const char *output;    /* absolute path of the folder; "" until it is open */
	struct lingering *lingering;
	uint64_t names_told[IOTR_STREAM_COUNT]; /* number of lost names that were logged */
	bool cgroups_sent; /* a list of cgroups waits for the disk */
	row_sink_handler ended;
	void *userdata;
};

/* `spec` and `output` belong to the session, and live as long. NULL: out of memory. */
struct file_sink *file_sink_new(const struct iotr_session_spec *spec, const char *output,
				struct lingering *lingering);

/* The folder is open; takes ownership of the writer, which owns the trace. */
void file_sink_open(struct file_sink *sink, struct writer *writer, struct trace *trace);

/* The sink as one of files, or NULL if it is of another kind. */
struct file_sink *file_sink_of(struct row_sink *sink);
