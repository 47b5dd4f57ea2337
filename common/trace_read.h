/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads one file of a trace to its end: rows, size and checksums. Any thread. */
#pragma once

#include "sha256_hex.h"
#include "trace_file.h"
#include "trace_scan.h"
#include "xxh128_hex.h"

struct trace_read {
	uint64_t limit; /* bytes of text after which reading stops; 0: no limit */
	/*
	 * Called regularly with the bytes of text read since the last call; false stops reading. May be NULL.
	 */
	bool (*progress)(uint64_t bytes, void *userdata);
	void *userdata;
	bool wants_sha256;	  /* that of the text as well, as manifests of version 1 have it */
	bool wants_stored_sha256; /* that of the file as well, if it is gzip */
	/* Results. */
	uint64_t bytes; /* size of the text; if it is above the limit, the file contains more */
	uint64_t stored; /* bytes on disk */
	char xxh128[XXH128_HEX_SIZE];	     /* of the text */
	char sha256[SHA256_HEX_SIZE];	     /* of the text; "": not wanted */
	char stored_sha256[SHA256_HEX_SIZE]; /* of the bytes on disk; "": not wanted, or it is not gzip */
};

/*
 * Feeds the file's text to `scan`. Returns 0, even if the scan has stopped before the end, or an error of
 * trace_file.h, or -ECANCELED, or -ENOMEM; `scan` and `read` contain the results so far.
 */
int trace_read(int folder_fd, const char *name, struct trace_scan *scan, struct trace_read *read);

/*
 * Reads the bytes on disk alone: of the results there are `stored` and `stored_sha256`. Calls `progress` with bytes on
 * disk, and returns the errors of trace_read().
 */
int trace_read_stored(int folder_fd, const char *name, struct trace_read *read);
