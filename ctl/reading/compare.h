/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two traces beside each other: what is new, gone, more, fewer, slower, faster in the second. One thread. */
#pragma once

#include "reading/difference.h"
#include "reading/summary.h"

/* One of the two. */
struct compare_side {
	const char *path;
	const struct summary *summary;
	const struct verify_trace *trace;
	double seconds; /* from its begin to its end */
	double missing[IOTR_STREAM_COUNT]; /* rows that were lost or removed; INFINITY: nobody knows how many */
};

struct compared_operation {
	enum iotr_stream stream;
	const char *name;
	const struct summary_operation *of[2]; /* NULL: there is none */
	struct change rows, errors;	       /* errors: of the rows */
	struct percentile percentiles[2][PERCENTILES];
	enum direction latencies[PERCENTILES];
};

/*
 * What lists compare: in each layer that both traces have, by itself. Processes are compared by command, as their numbers are others
 * each time.
 */
struct compared_key {
	const char *key; /* not ended by a NUL; of the summaries */
	size_t length;
	unsigned int layer; /* see enum facts_layer */
	struct top_sum sums[2];
	bool partial; /* a trace forgot it for a while, and what it has of it is not all */
	struct change rows; /* by how much those of the whole stream vary, as nobody knows how those of one key come */
	struct change latency; /* of rows, each against what those of its operation took in the first trace */
	double busier; /* seconds that are spent on it in a second, in the second trace more than in the first */
};

struct compare {
	struct compare_side sides[2];
	struct compared_operation *operations; /* by stream, then those with the most rows first */
	size_t operation_count;
	struct compared_list {
		struct compared_key *keys; /* those that differ, and of which the most time more or less was spent first */
		size_t count;		   /* of these */
		size_t all;		   /* keys in layers that were compared */
		bool forgotten; /* a trace has too many to follow all; what it does not have may be forgotten, and is left out */
	} lists[SUMMARY_LISTS];
};

/* The summaries and traces are borrowed, and must live as long. -ENOMEM. compare_done() must follow. */
int compare_make(struct compare *compare);

void compare_done(struct compare *compare);

/* Whether anything of it is different for certain. */
bool compare_differs(const struct compared_operation *operation);

/* For people, and as one JSON document, on stdout; `most`: so many of each list. In compare_print.c. */
void compare_print(const struct compare *compare, size_t most);
void compare_print_json(const struct compare *compare, size_t most);
