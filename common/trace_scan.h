/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scans the rows of a segment and finds malformed ones: CSV by RFC 4180 (a quoted field may contain commas,
 * quotes and line ends) with a header line, or JSON with one object per line. Memory is bounded for any input.
 * One thread per object.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session_spec.h"

enum {
	TRACE_ROW_MAX = 1024 * 1024, /* in bytes; the daemon's rows have at most a quarter of that */
	TRACE_TIME_SIZE = 30,	     /* in bytes: "YYYY-MM-DD HH:MM:SS.nnnnnnnnn" and a NUL */
};

/* Columns of the stream; the first must be timestamp, the last mono_ns. The strings are borrowed. */
struct trace_columns {
	const char *const *names;
	size_t count;
	const char *header; /* names joined by commas, with a line feed */
	size_t header_size;
};

struct trace_scan {
	enum iotr_format format;
	const struct trace_columns *columns;
	/* Rows with mono_ns outside of this range are counted; set by the caller, 0 to 2^64-1 at first. */
	uint64_t from_ns, to_ns;
	/* Results. */
	bool begun;	  /* the header was read; always true for JSON, like the next one */
	bool header_good;
	uint64_t rows;	  /* good and bad rows */
	uint64_t bytes;	  /* bytes of complete lines, including the header */
	uint64_t bad_rows, first_bad;
	const char *bad_because;
	uint64_t outside_rows, first_outside;
	uint64_t least_ns, greatest_ns; /* mono_ns of good rows; least_ns is greater if there are none */
	char least_time[TRACE_TIME_SIZE], greatest_time[TRACE_TIME_SIZE]; /* timestamps of these rows */
	bool stopped; /* a row is too long, and the rest is not scanned */
	/* Private. */
	char *buffer;
	size_t used;
	struct json_tokener *tokener;
};

/* May fail with -ENOMEM. */
int trace_scan_init(struct trace_scan *scan, enum iotr_format format,
		    const struct trace_columns *columns);
void trace_scan_done(struct trace_scan *scan);

/* Returns a buffer for the next bytes of the text; it is never empty unless the scan has stopped. */
char *trace_scan_room(struct trace_scan *scan, size_t *size);

/* Scans so many bytes that were put into the buffer. */
void trace_scan_added(struct trace_scan *scan, size_t size);

/* Number of bytes after the last line end. */
size_t trace_scan_rest(const struct trace_scan *scan);
