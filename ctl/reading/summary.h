/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a trace holds, read in one pass and in bounded memory. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reading/cgroups.h"
#include "reading/facts.h"
#include "reading/histogram.h"
#include "reading/rate.h"
#include "reading/top.h"
#include "verify/report.h"
#include "verify/trace.h"

/* Names of operations are words of the catalogue; more of them than this, of a stream, are summed up as one. */
enum { SUMMARY_OPERATIONS_MAX = IOTR_OPERATIONS_MAX, SUMMARY_OPERATION_SIZE = 32 };

struct summary_operation {
	char name[SUMMARY_OPERATION_SIZE];
	uint64_t rows, errors;
	uint64_t bytes, stacked_bytes; /* the latter of disks that are made of others, which do the same again */
	unsigned int moves;	       /* bits of enum iotr_moves */
	struct histogram *latencies; /* NULL: its rows have none */
	struct rate rate;
	double usual; /* of the baseline; NAN: it does not know the operation */
};

#define SUMMARY_USUAL_ERROR 0.1

/*
 * What rows of each operation took in one trace. Seen against this, rows of different operations can be summed up: a file is
 * not slow because it is synchronised often.
 */
struct summary_baseline {
	struct summary_usual {
		char name[SUMMARY_OPERATION_SIZE];
		double usual; /* logarithm of the median to the base 2, of ns */
	} operations[IOTR_STREAM_COUNT][SUMMARY_OPERATIONS_MAX];
	size_t counts[IOTR_STREAM_COUNT];
};

struct summary_stream {
	bool there; /* the trace has the stream */
	uint64_t rows, errors, stored_text;
	uint64_t read, written;
	uint64_t stacked_rows, stacked_read, stacked_written; /* of disks that are made of others */
	struct summary_operation operations[SUMMARY_OPERATIONS_MAX];
	size_t operation_count;
	struct rate rate;
};

/*
 * What the greatest are listed of, by layers: see enum facts_layer. Devices are those of block rows alone, however their disks are
 * made, where the trace has the stream block; else those of file systems.
 */
enum summary_list {
	SUMMARY_FILES,
	SUMMARY_DIRECTORIES, /* of those files */
	SUMMARY_PROCESSES, /* keys are PID and command, joined by a space */
	SUMMARY_UNITS,	   /* keys are ids of cgroups until the end, names then */
	SUMMARY_DEVICES,
	SUMMARY_PEERS,
	SUMMARY_LISTS,
};

enum { SUMMARY_DISKS_MAX = 256 };

struct summary_disk {
	char device[24]; /* major:minor */
	char name[40];
};

struct summary {
	struct summary_stream streams[IOTR_STREAM_COUNT];
	struct top lists[SUMMARY_LISTS];
	struct cgroup_names cgroups;
	struct summary_disk disks[SUMMARY_DISKS_MAX];
	size_t disk_count;
	uint64_t rows, bad_rows, bytes;
	size_t files;
	const struct summary_watcher *watcher;	 /* these are borrowed while rows are read */
	const struct summary_baseline *baseline;
};

/* Who looks at the rows, too, so that they are read once for all. */
struct summary_watcher {
	/* A row that was summed up; `moves`: bits of enum iotr_moves. -ENOMEM ends the reading. */
	int (*row)(void *watcher, const struct facts_columns *columns, const struct trace_rows *rows,
		   const struct facts *facts, unsigned int moves);
	void *watcher;
};

/* Names of the lists in JSON. */
extern const char *const summary_list_names[SUMMARY_LISTS];

/*
 * Reads all rows of the trace, whose manifest was read; what is wrong with them is said in the report, and what can be
 * read is. `watcher` and `baseline` may be NULL. -ENOMEM. summary_done() must follow.
 */
int summary_read(struct summary *summary, struct verify_trace *trace, struct verify_report *report,
		 const struct summary_watcher *watcher, const struct summary_baseline *baseline);

/* That of a trace that was read: of operations whose median is known to SUMMARY_USUAL_ERROR. */
void summary_baseline(const struct summary *summary, struct summary_baseline *ret);

/* The outermost layer that the trace has of what is listed, whose sums come first. FACTS_LAYERS: it has none. */
unsigned int summary_outermost(const struct summary *summary, enum summary_list list);

/* Bytes that an operation moved; those of disks that are made of others where there are none below them. */
static inline uint64_t summary_bytes(const struct summary_operation *operation)
{
	return operation->bytes ?: operation->stacked_bytes;
}

/* Of a stream, likewise; `written`, or read. */
static inline uint64_t summary_moved(const struct summary_stream *stream, bool written)
{
	if (stream->stacked_rows && stream->stacked_rows == stream->rows)
		return written ? stream->stacked_written : stream->stacked_read;
	return written ? stream->written : stream->read;
}

/* Name of the disk with that number; "": rows do not say. */
const char *summary_disk(const struct summary *summary, const char *device);

void summary_done(struct summary *summary);
