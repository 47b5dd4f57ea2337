/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cells as JSON objects, one a line, with the columns' names as keys and in their order. Numbers
 * are numbers, an unknown value is null, all others are text: the same as in CSV, so bytes that are
 * not UTF-8, control characters and the backslash are \xNN there too, whose backslash JSON writes
 * as two. One object per stream and writer thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cells/cells.h"
#include "cells/cells_anonymize.h"
#include "format_values.h"
#include "row.h"

enum {
	FORMAT_JSONL_KEY_MAX = 32, /* ,"name": */
};

struct format_jsonl_key {
	char text[FORMAT_JSONL_KEY_MAX];
	uint8_t length;
	bool number; /* the column's values are numbers */
};

struct format_jsonl {
	enum iotr_stream stream;
	struct cells_anonymizer *anonymizer; /* not owned; NULL: names stay in the clear */
	struct format_date date;
	struct format_mono mono;
	struct format_jsonl_key keys[CELLS_MAX];
};

/* With an anonymizer, which it does not own, rows are written with hashes for names. */
void format_jsonl_init(struct format_jsonl *jsonl, enum iotr_stream stream, struct cells_anonymizer *anonymizer);

/* The most bytes that the line of this row can take. */
size_t format_jsonl_bound(const struct row *row, bool anonymized);

/* Writes the line of a row to `out`, which has room for the bound, and returns its length. */
size_t format_jsonl_row(struct format_jsonl *jsonl, struct cells *cells, const struct row *row, char *out);
