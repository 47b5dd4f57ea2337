/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A row as typed values, one per column of its stream's schema and in that order: what a file
 * format writes. A stream has one function here that fills them in; a format has one that writes
 * them, and knows no stream. One object per writer thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "disks.h"
#include "flags.h"
#include "names.h"
#include "row.h"
#include "schema.h"

enum cell_kind {
	CELL_EMPTY,
	CELL_TEXT, /* escaped already */
	CELL_U64,
	CELL_S64, /* a number below zero; all others are CELL_U64 */
	CELL_HEX,
	CELL_MS,     /* number is in nanoseconds */
	CELL_DEVICE, /* number is major << 20 | minor */
	CELL_TIME,   /* number is in nanoseconds since 1970 */
	CELL_MONO,   /* number is in nanoseconds of CLOCK_MONOTONIC, in each row little more than in the last */
	CELL_LATE,   /* a span: see below */
	CELL_KIND_COUNT,
};

/*
 * Columns whose values mostly repeat together are a span. Its first cell is CELL_LATE and holds an id: the same
 * id always stands for the same text of all its columns. A format that has kept that text copies it; one that has not
 * calls cells_fill_span(), which fills the cells of the span.
 */
struct cell {
	uint8_t kind;
	bool quote;  /* the text holds a comma or a quote */
	bool steady; /* the number is likely that of the row before: its digits are worth keeping */
	uint8_t span; /* CELL_LATE: number of its columns, this one included */
	union {
		uint32_t length; /* of the text */
		uint32_t which;	 /* enum cells_span */
	};
	union {
		uint64_t number;
		const char *text;
		uint64_t id; /* of the span; id % CELLS_PLACES is the place where its text is kept */
	};
};

_Static_assert(sizeof(struct cell) == 16, "cells are copied as two words");

enum cells_span {
	CELLS_TASK,
	CELLS_TASK_END,
	CELLS_FILE,
	CELLS_RESULT,
	CELLS_SPAN_COUNT,
};

/* The largest number of columns of a stream. */
#define CELLS_MAX 32

/*
 * Cells by the name of their column: FIRST_timestamp and so on are at the same place in every row,
 * then come those of the stream, VFS_filename and so on, and LAST_ppid counts from VFS_END.
 */
#define CELLS_FIRST(each, column, type, unit, doc)    FIRST_##column,
#define CELLS_LAST(each, column, type, unit, doc)     LAST_##column,
#define CELLS_COLUMN(stream, column, type, unit, doc) stream##_##column,

enum first_column { IOTR_FIRST_COLUMNS(CELLS_FIRST) FIRST_COUNT };
enum last_column { IOTR_LAST_COLUMNS(CELLS_LAST) LAST_COUNT };

#define CELLS_STREAM(id, name, flag, folder, doc)                                               \
	enum name##_column {                                                                    \
		id##_BEGIN = FIRST_COUNT - 1,                                                   \
		IOTR_##id##_COLUMNS(CELLS_COLUMN) id##_END,                                     \
	};                                                                                      \
	_Static_assert(id##_END + (int)LAST_COUNT <= CELLS_MAX, "more columns than cells");
IOTR_STREAMS(CELLS_STREAM)

enum {
	CELLS_FLAGS_CACHED = 32, /* entries in the cache of decoded flags */
	CELLS_FLAGS_SIZE = 112,	 /* bytes of an entry's text; a longer one is decoded each time */
	CELLS_TASKS_CACHED = 64,
	CELLS_FILES_CACHED = 256,
	CELLS_RESULTS_CACHED = 512,
	CELLS_BEGINNINGS = 192, /* spans at the beginning of rows, by task and operation */
	/* Places where formats keep the texts of spans; a span's place is its id % CELLS_PLACES. */
	CELLS_PLACE_TASK = 0,
	CELLS_PLACE_TASK_END = CELLS_PLACE_TASK + CELLS_BEGINNINGS,
	CELLS_PLACE_FILE = CELLS_PLACE_TASK_END + CELLS_TASKS_CACHED,
	CELLS_PLACE_RESULT = CELLS_PLACE_FILE + CELLS_FILES_CACHED,
	CELLS_PLACES = CELLS_PLACE_RESULT + CELLS_RESULTS_CACHED,
};

_Static_assert(!(CELLS_PLACES & (CELLS_PLACES - 1)), "places are low bits");

struct cells_flags {
	bool valid;
	uint32_t group; /* which table */
	uint32_t file_flags;
	uint32_t flags;
	uint32_t length;
	char text[CELLS_FLAGS_SIZE];
};

/* The task that caused a row, copied from the end of the record's head. */
struct cells_task {
	uint64_t cgroup_id;
	uint32_t pid;
	uint32_t tid;
	uint32_t ppid;
	uint32_t uid;
	char command[IOTR_COMMAND_SIZE];
};

struct cells_task_slot {
	struct cells_task task;
	uint64_t id; /* of the span at the end of a row; 0: the slot is free */
	uint32_t cpu; /* on which the task last was */
	bool quote;
	uint8_t length;
	char text[4 * IOTR_COMMAND_SIZE]; /* the command, escaped */
};

/*
 * All values that the columns of a file or result span show. The functions of these columns can
 * read nothing else, so that equal keys mean equal text.
 */
struct cells_key {
	uint64_t words[3];
};

struct cells_key_slot {
	struct cells_key key;
	uint64_t id; /* 0: free */
};

/* State that is kept from row to row. */
struct cells {
	int64_t realtime_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC, set by the owner */
	const struct row *row;	 /* the row that is being filled; the next member is its task */
	const struct cells_task_slot *task;
	bool late; /* spans are only marked, by CELL_LATE */
	struct disks disks;
	struct cells_task_slot tasks[CELLS_TASKS_CACHED];
	struct cells_key_slot files[CELLS_FILES_CACHED];
	struct cells_key_slot results[CELLS_RESULTS_CACHED];
	struct cells_flags flags[CELLS_FLAGS_CACHED];
	uint8_t operation_lengths[IOTR_STREAM_COUNT][IOTR_OPERATIONS_MAX];
	const char *fs_type; /* of the last row, and its length */
	size_t fs_type_length;
	size_t flags_used; /* bytes of flags_text that are used for the row that is being filled */
	char flags_text[3 * FLAGS_TEXT_MAX]; /* decoded flags and other short texts of that row */
	char pair[2 * NAMES_PATH_MAX + 64]; /* "old -> new" */
};

void cells_init(struct cells *cells);

/*
 * Fills one cell per column and returns how many. The texts are valid until the next call, and
 * as long as the row.
 */
size_t cells_fill(struct cells *cells, const struct row *row, struct cell cell[CELLS_MAX]);

/*
 * The same, but only the first cell of a span is set, to CELL_LATE. cells_fill_span() fills the
 * span; it may be called until the next row is filled, and the row must stay valid until then.
 */
size_t cells_fill_late(struct cells *cells, const struct row *row, struct cell cell[CELLS_MAX]);
void cells_fill_span(struct cells *cells, struct cell *cell, size_t column);

/* ---- for the streams' own files ---- */

typedef void (*cells_filler)(struct cells *cells, const struct row *row, struct cell *cell);
#define CELLS_FILLER(id, name, flag, folder, doc)                                               \
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

static inline struct cell cell_empty(void)
{
	return (struct cell){ .kind = CELL_EMPTY };
}

static inline struct cell cell_number(enum cell_kind kind, uint64_t number)
{
	return (struct cell){ .kind = (uint8_t)kind, .number = number };
}

/* A number, or an empty cell for IOTR_UNKNOWN. */
static inline struct cell cell_known(enum cell_kind kind, uint64_t number)
{
	return cell_number(number == IOTR_UNKNOWN ? CELL_EMPTY : kind, number);
}

static inline struct cell cell_steady(struct cell cell)
{
	cell.steady = true;
	return cell;
}

static inline struct cell cell_signed(int64_t number)
{
	return cell_number(number < 0 ? CELL_S64 : CELL_U64, (uint64_t)number);
}

/* Empty where it is not known. */
static inline struct cell cell_signed_if(bool known, int64_t number)
{
	return known ? cell_signed(number) : cell_number(CELL_EMPTY, 0);
}

static inline struct cell cell_device(uint32_t device)
{
	return cell_steady(cell_number(device ? CELL_DEVICE : CELL_EMPTY, device));
}

/* Begins a span. */
static inline struct cell cell_late(enum cells_span which, uint8_t columns, uint64_t id)
{
	return (struct cell){ .kind = CELL_LATE, .span = columns, .which = which, .id = id };
}

/* A new id for the new content of a place: it differs from all earlier ids. */
static inline uint64_t cells_next_id(uint64_t id, size_t place)
{
	return (id ? id : place) + CELLS_PLACES;
}

static inline struct cell cell_bytes(const char *text, size_t length, bool quote)
{
	return (struct cell){ .kind = length ? CELL_TEXT : CELL_EMPTY,
			      .quote = quote,
			      .length = (uint32_t)length,
			      .text = text };
}

struct cell cell_string(const char *text);

/* The path of the row's file. */
static inline struct cell cell_path(const struct row *row)
{
	return cell_bytes(row->path.text, row->path.length, row->path.quote);
}

/* old -> new; a side that is unknown is left empty, and so is the cell when both are. */
struct cell cell_pair(struct cells *cells, const struct row *row);

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

/* Kinds of flags that cell_flags() decodes, with a cache. */
enum cells_flags_kind {
	CELLS_FLAGS_VFS, /* whose table is given by `kind` */
	CELLS_FLAGS_PROTECTION,
	CELLS_FLAGS_MAPPING,
	CELLS_FLAGS_BLOCK,
};

struct cell cell_flags(struct cells *cells, enum cells_flags_kind which, enum iotr_flag_kind kind,
		       uint32_t file_flags, uint32_t flags);
