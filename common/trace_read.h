/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One file of a trace from its beginning to its end: its rows, its size and its SHA-256, all of
 * the uncompressed text. Any thread.
 */
#pragma once

#include "sha256_hex.h"
#include "trace_file.h"
#include "trace_scan.h"

struct trace_read {
	uint64_t limit; /* bytes of text after which reading ends; 0: none */
	/* Called now and then with the bytes of text read since the last call; false ends it. May be NULL. */
	bool (*progress)(uint64_t bytes, void *userdata);
	void *userdata;
	/* What was found. */
	uint64_t bytes; /* of text: more than the limit means that there is more than that */
	uint64_t stored; /* on disk */
	char sha256[SHA256_HEX_SIZE];
};

/*
 * Feeds `scan` with the file's text. 0 also where the scan has stopped before the end, else an
 * error of trace_file.h, or -ECANCELED; what was read until then is in `scan` and `read`.
 */
int trace_read(int folder_fd, const char *name, struct trace_scan *scan, struct trace_read *read);
