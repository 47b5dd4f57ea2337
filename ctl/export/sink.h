/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an export is written by: rows go in, in the order of time, and a file of another format comes out. One thread. */
#pragma once

#include <json-c/json.h>
#include <stdio.h>

#include "export/row.h"

enum { EXPORT_MESSAGE_SIZE = 256 };

/* Where a format that is one file is written to, and how. */
struct export_target {
	FILE *stream;
	const char *path; /* that the file will have; "-": stdout */
	bool trims;	  /* of a log for fio: with what was discarded */
};

/* The first member of the one of each format. */
struct export_sink {
	/* Takes a row, which is borrowed. Returns 0, or an error and, unless it is one of errno alone, says what it means. */
	int (*row)(struct export_sink *sink, const struct export_row *row);
	/* After the last row; returns the same. */
	int (*end)(struct export_sink *sink);
	/* Adds to the document what was written, and what was not. */
	void (*tell)(const struct export_sink *sink, struct json_object *document);
	void (*free)(struct export_sink *sink);
	bool kept; /* set when all of it has its name: what was written beside it stays */
	char message[EXPORT_MESSAGE_SIZE]; /* "": the error's own says all */
};
