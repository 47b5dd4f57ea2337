/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sources of cells share. cells.c is above: it fills the columns that every stream has, and has a stream's
 * own filled by its stream_*.c; these make theirs of cell.h, of values.c, and of socket.c. Writer thread.
 */
#pragma once

#include <string.h>

#include "cells.h"
#include "columns.h"

/* ---- a stream's own columns ---- */

typedef void (*cells_filler)(struct cells *cells, const struct row *row, struct cell *cell);
#define CELLS_FILLER(id, name, ...)                                                             \
	void cells_fill_##name(struct cells *cells, const struct row *row, struct cell *cell);
IOTR_STREAMS(CELLS_FILLER)

/* Functions that fill the spans of vfs. */
void cells_fill_vfs_file(struct cells *cells, const struct row *row, struct cell *cell);
void cells_fill_vfs_result(struct cells *cells, const struct row *row, struct cell *cell);

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
	}

/* Like CELL(), but the value is made of what `from` points to, under the name that `as` gives it. */
#define CELL_FROM(type, as, stream, column, value)                                                             \
	static inline struct cell cell_##stream##_##column(struct cells *cells, const struct row *row,         \
							   const type *as)                                     \
	{                                                                                                      \
		(void)cells, (void)row, (void)as;                                                              \
		return value;                                                                                  \
	}
/* To count a list of columns. */
#define CELLS_ONE(stream, column, type, unit, doc) +1

#define CELL_PUT(stream, column, type, unit, doc) cell[stream##_##column] = cell_##stream##_##column(cells, row, from);

/* ---- values: values.c ---- */

struct cell cell_string(const char *text);

/* The path of the row's file. */
static inline struct cell cell_path(const struct row *row)
{
	return cell_bytes(row->path.text, row->path.length, row->path.quote);
}

/* old -> new; a side that is unknown is left empty, and so is the cell when both are. */
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

/* ---- spans, and what is kept from row to row ---- */

/* A new id for the new content of a place: it differs from all earlier ids. */
static inline uint64_t cells_next_id(uint64_t id, size_t place)
{
	return (id ? id : place) + CELLS_PLACES;
}

/* Whether a few words are equal, without a call of memcmp(). */
static inline bool cells_same(const void *left, const void *right, size_t size)
{
	uint64_t difference = 0, words[2];

	for (size_t at = 0; at < size; at += sizeof(words[0])) {
		memcpy(&words[0], (const char *)left + at, sizeof(words[0]));
		memcpy(&words[1], (const char *)right + at, sizeof(words[1]));
		difference |= words[0] ^ words[1];
	}
	return !difference;
}

static inline uint64_t cells_hash(uint64_t value)
{
	return value * 0x9e3779b97f4a7c15ULL >> 32;
}

/* The id under which the span of this key was shown before, or a new one. */
static inline uint64_t cells_key_id(struct cells_key_slot *slots, size_t count, size_t place,
				    struct cells_key key)
{
	uint64_t hash = cells_hash(key.words[0] + 31 * key.words[1] + 0x1000193 * key.words[2]);
	struct cells_key_slot *slot = &slots[hash % count];

	if (slot->id && !((slot->key.words[0] ^ key.words[0]) | (slot->key.words[1] ^ key.words[1]) |
			  (slot->key.words[2] ^ key.words[2])))
		return slot->id;
	slot->key = key;
	slot->id = cells_next_id(slot->id, place + (size_t)(slot - slots));
	return slot->id;
}
