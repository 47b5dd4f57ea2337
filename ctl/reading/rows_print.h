/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows for people, as CSV, and as JSON lines, on stdout. One thread. */
#pragma once

#include <stdbool.h>

#include "reading/merge.h"

enum rows_form { ROWS_TEXT, ROWS_CSV, ROWS_JSON };

enum { ROWS_COLUMNS_MAX = 128 };

struct rows_printer {
	enum rows_form form;
	const char *columns[ROWS_COLUMNS_MAX]; /* those that are shown; of text none: all that have a value */
	size_t column_count;
	uint32_t streams;	    /* those that may come */
	const char *const *traces; /* names of several, each row with its own; NULL: there is one */
	bool begun, terminal;
};

/*
 * `columns`: names separated by commas, "stream" and "trace" among them; NULL: all. Returns the name that no stream has,
 * in memory that the caller frees, or NULL.
 */
char *rows_printer_init(struct rows_printer *printer, enum rows_form form, uint32_t streams, const char *columns,
			const char *const *traces);

void rows_print(struct rows_printer *printer, const struct merged_row *row);

/* After the last row: CSV has a header even without any. */
void rows_print_end(struct rows_printer *printer);

/* The value of a column of that name; empty where the row's stream has none. */
struct trace_text rows_value(const struct merged_row *row, const char *column);
