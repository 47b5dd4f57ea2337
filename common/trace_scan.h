/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of a segment, whole ones told from others: CSV by RFC 4180 (a quoted field may hold commas,
 * quotes and line ends) with a header line, or JSON, an object a line. Memory is bounded whatever
 * comes. One thread per object.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TRACE_ROW_MAX = 1024 * 1024, /* bytes; the daemon's rows are at most a quarter of that */
	TRACE_TIME_SIZE = 30,	     /* "YYYY-MM-DD HH:MM:SS.nnnnnnnnn" and a NUL */
};

enum trace_format { TRACE_CSV, TRACE_JSONL };

/* Columns of the stream; the first must be timestamp, the last mono_ns. Borrowed. */
struct trace_columns {
	const char *const *names;
	size_t count;
	const char *header; /* names joined by commas, and a line feed */
	size_t header_size;
};

struct trace_scan {
	enum trace_format format;
	const struct trace_columns *columns;
	uint64_t from_ns, to_ns; /* mono_ns outside is counted; set by the caller, 0 to 2^64-1 at first */
	/* What was found. */
	bool begun;	  /* the header has come; always for JSON, as the next */
	bool header_good;
	uint64_t rows;	  /* whole ones and others */
	uint64_t bytes;	  /* of lines that have their end, header included */
	uint64_t bad_rows, first_bad;
	const char *bad_because;
	uint64_t outside_rows, first_outside;
	uint64_t least_ns, greatest_ns; /* mono_ns of good rows; the first is greater when there is none */
	char least_time[TRACE_TIME_SIZE], greatest_time[TRACE_TIME_SIZE]; /* their timestamps */
	bool stopped; /* the rest is not looked at: a row is too long */
	/* Its own. */
	char *buffer;
	size_t used;
	struct json_tokener *tokener;
};

/* -ENOMEM. */
int trace_scan_init(struct trace_scan *scan, enum trace_format format,
		    const struct trace_columns *columns);
void trace_scan_done(struct trace_scan *scan);

/* Room for the next bytes of the text: never none while the scan has not stopped. */
char *trace_scan_room(struct trace_scan *scan, size_t *size);

/* So many bytes have been put there. */
void trace_scan_added(struct trace_scan *scan, size_t size);

/* Bytes behind the last line's end. */
size_t trace_scan_rest(const struct trace_scan *scan);
