/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an export is written by: rows go in, in the order of time, and a file of another format comes out. One thread. */
#pragma once

#include <json-c/json.h>

#include "export/row.h"

enum { EXPORT_MESSAGE_SIZE = 256 };

/* The first member of the one of each format. */
struct export_sink {
	/* Takes a row, which is borrowed. Returns 0, or an error and, unless it is one of errno alone, says what it means. */
	int (*row)(struct export_sink *sink, const struct export_row *row);
	/* After the last row; returns the same. */
	int (*end)(struct export_sink *sink);
	/* Adds to the document what was written, and what was not. */
	void (*tell)(const struct export_sink *sink, struct json_object *document);
	void (*free)(struct export_sink *sink);
	char message[EXPORT_MESSAGE_SIZE]; /* "": the error's own says all */
};
