/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sources of cells share. cells.c is above: it fills the columns that every stream has, and has a stream's
 * own filled by its stream_*.c; these make theirs of cell.h, of values.c, and of socket.c. Writer thread.
 */
#pragma once

#include <string.h>

#include "cells.h"
#include "columns.h"
#include "csv.h"

/* ---- a stream's own columns ---- */

typedef void (*cells_filler)(struct cells *cells, const struct row *row, struct cell *cell);
#define CELLS_FILLER(id, name, ...)                                                             \
	void cells_fill_##name(struct cells *cells, const struct row *row, struct cell *cell);
IOTR_STREAMS(CELLS_FILLER)

/*
 * A stream's file says CELLS_RECORD(STREAM, its record), then CELL(STREAM, column, value) for every column of the
 * catalogue, with a value that is made of `cells`, `row` and `record`, and at last CELLS_FILL(STREAM, stream). A column
 * that is forgotten does not compile.
 */
#define CELLS_RECORD(stream, type) typedef type record_##stream
#define CELL(stream, column, value) CELL_FROM(record_##stream, record, stream, column, value)
#define CELLS_FILL(id, name)                                                                      \
	void cells_fill_##name(struct cells *cells, const struct row *row, struct cell *cell)     \
	{                                                                                         \
		const record_##id *from = (const void *)row->record;                              \
                                                                                                  \
		IOTR_##id##_COLUMNS(CELL_PUT)                                                     \
	}                                                                                         \
                                                                                                  \
	char *csv_write_##name(struct csv *csv, struct cells *cells, const struct row *row, char *out) \
	{                                                                                         \
		const record_##id *from = (const void *)row->record;                              \
		struct csv_digits digits = csv_no_digits();                                       \
                                                                                                  \
		IOTR_##id##_COLUMNS(CELL_CSV)                                                     \
		return out;                                                                       \
	}

/* Like CELL(), but the value is made of what `from` points to, under the name that `as` gives it. */
#define CELL_FROM(type, as, stream, column, value)                                                             \
	static inline struct cell cell_##stream##_##column(struct cells *cells, const struct row *row,         \
							   const type *as)                                     \
	{                                                                                                      \
		(void)cells, (void)row, (void)as;                                                              \
		return value;                                                                                  \
	}
#define CELL_PUT(stream, column, type, unit, doc) cell[stream##_##column] = cell_##stream##_##column(cells, row, from);
#define CELL_CSV(stream, column, type, unit, doc)                                                              \
	out = csv_put(csv, &digits, out, cell_##stream##_##column(cells, row, from), stream##_##column);

/* ---- values: values.c ---- */

struct cell cell_string(const char *text);

/* The path of the row's file. */
static inline struct cell cell_path(const struct row *row)
{
	return cell_bytes(row->path.text, row->path.length);
}

/* old -> new; a side that is unknown is "...", and the cell is empty when both are. */
struct cell cell_pair(struct cells *cells, const struct row *row);

/* Kinds of flags that cell_flags() decodes, with a cache. */
enum cells_flags_kind {
	CELLS_FLAGS_VFS, /* whose table is given by `kind` */
	CELLS_FLAGS_PROTECTION,
	CELLS_FLAGS_MAPPING,
	CELLS_FLAGS_BLOCK,
};

struct cell cell_flags(struct cells *cells, enum cells_flags_kind which, enum iotr_flag_kind kind,
		       uint32_t file_flags, uint32_t flags);

/* The flow of a row; 0: none is known. */
static inline struct cell cell_flow(uint64_t flow)
{
	return cell_number(flow ? CELL_U64 : CELL_EMPTY, flow);
}

/* ---- what is kept from row to row ---- */

static inline uint64_t cells_hash(uint64_t value)
{
	return value * 0x9e3779b97f4a7c15ULL >> 32;
}
