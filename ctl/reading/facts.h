/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the cells of a row mean, of whichever stream: the numbers that filters and summaries go by. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "schema.h"
#include "trace_rows.h"

#define FACTS_PAGE_SIZE 4096 /* of x86-64 */

/*
 * What rows are of, as layers that I/O passes: streams by their numbers, but that rows of disks that are made of others
 * are apart. What is summed up is of one layer.
 */
enum { FACTS_STACKED = IOTR_STREAM_COUNT, FACTS_LAYERS };

/* The name of a stream, or "stacked". */
const char *facts_layer_name(unsigned int layer);

/* The columns that a file has, by what they are for; -1: none. */
struct facts_columns {
	enum iotr_stream stream;
	int timestamp, operation, pid, tid, command, ppid, uid, cgroup_id, mono_ns;
	int latency, queue_latency, asked, done, error, file, device, disk, leaf, inode, flow, fs_type, severity;
	int local_address, local_port, remote_address, remote_port; /* of net: source and destination */
	bool latency_in_ms;
	bool error_is_result; /* below zero: it failed */
};

struct facts {
	bool has_latency, has_mono, failed;
	uint64_t latency_ns;
	uint64_t asked; /* bytes; 0 where there are none */
	uint64_t done;
	uint64_t mono_ns;
	unsigned int layer; /* which the row is of */
};

void facts_columns_find(struct facts_columns *columns, enum iotr_stream stream, const struct trace_rows *rows);

/* Reads the current row. */
void facts_read(const struct facts_columns *columns, const struct trace_rows *rows, struct facts *facts);

/* The cell of that column; an empty one where there is no such column. */
static inline struct trace_text facts_cell(const struct trace_rows *rows, int column)
{
	return column < 0 ? (struct trace_text){ "", 0 } : rows->cells[column];
}

/* The other end of what the row is about: address and port, each empty where there is none. */
void facts_peer(const struct facts_columns *columns, const struct trace_rows *rows, struct trace_text *address,
		struct trace_text *port);
