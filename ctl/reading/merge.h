/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of all streams of one or several traces in the order of time, in bounded memory. Rows lie in files in the order in
 * which operations ended, and are wanted by when these began: so many rows as fit into a window of MERGE_WINDOW bytes are
 * held, and the earliest of them is the next. What fits into the window as a whole is in order for sure; a row whose
 * operation took longer than the window spans comes late, and is counted. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reading/row_filter.h"
#include "verify/report.h"
#include "verify/trace.h"

enum { MERGE_WINDOW = 64 << 20 };

/* A row that is held; owned by who got it. */
struct merged_row {
	uint64_t ns;   /* by which it is ordered */
	uint64_t read; /* so many rows were read before it: what is of the same time keeps its order */
	size_t trace;  /* number of its trace */
	enum iotr_stream stream;
	uint32_t size; /* bytes that it takes */
	uint16_t cells;
	struct merged_cell {
		uint32_t at;
		uint32_t length;
	} cell[]; /* in the order of the catalogue's columns; their text follows */
};

struct merge;

/*
 * The manifests were read. All is borrowed. Of several traces the order is that of the time of day, as their clocks that
 * count from the boot may be of different ones. NULL: out of memory.
 */
struct merge *merge_new(struct verify_trace *traces, size_t count, struct row_filter *filter, struct verify_report *report);
void merge_free(struct merge *merge);

/* The next row, which the caller frees; NULL: there are no more, or -ENOMEM in `*error`. */
struct merged_row *merge_next(struct merge *merge, int *error);

/* Rows that came after others that began later. */
uint64_t merge_late(const struct merge *merge);

/* Text of a cell, by the number of the catalogue's column. */
static inline struct trace_text merged_cell(const struct merged_row *row, size_t column)
{
	struct merged_cell cell = row->cell[column];

	return (struct trace_text){ (const char *)row + cell.at, cell.length };
}
