/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows to memory: a flight recorder, with the times of its losses. Main thread. */
#pragma once

#include "pipeline/writer/losses.h"
#include "pipeline/recorder.h"
#include "session/row_sink.h"

struct memory_sink {
	struct row_sink base;
	struct recorder *recorder;
	struct losses *losses;
	uint32_t streams; /* a bit for each enum iotr_stream */
	struct writer_probes probes[IOTR_STREAM_COUNT]; /* as last reported */
	bool dumping;	  /* a dump of it is being written */
};

/* `size` is in bytes; `session` is for the log. -ENOMEM. */
int memory_sink_new(const char *session, uint32_t streams, uint64_t size, struct memory_sink **ret);

/* The sink as one of memory, or NULL if it is of another kind. */
struct memory_sink *memory_sink_of(struct row_sink *sink);
