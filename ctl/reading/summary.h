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
	uint64_t rows, errors, bytes;
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
	uint64_t rows, errors, bytes, stored_text;
	struct summary_operation operations[SUMMARY_OPERATIONS_MAX];
	size_t operation_count;
	struct rate rate;
};

/* What the greatest are listed of. */
enum summary_list {
	SUMMARY_FILES,
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
	/* A row that was summed up. -ENOMEM ends the reading. */
	int (*row)(void *watcher, const struct facts_columns *columns, const struct trace_rows *rows,
		   const struct facts *facts);
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

/* Name of the disk with that number; "": rows do not say. */
const char *summary_disk(const struct summary *summary, const char *device);

void summary_done(struct summary *summary);
