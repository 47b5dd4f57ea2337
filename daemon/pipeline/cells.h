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
	CELL_S64, /* of those below zero */
	CELL_HEX,
	CELL_MS,     /* number is in nanoseconds */
	CELL_DEVICE, /* number is major << 20 | minor */
	CELL_TIME,   /* number is in nanoseconds since 1970 */
	CELL_MONO,   /* and since the machine started: in every row little more than in the last */
	CELL_LATE,   /* a span: see below */
	CELL_KIND_COUNT,
};

/*
 * Columns that mostly show together what they have shown before are a span. In the place of the first
 * of them there is an id, CELL_LATE, under which they are the same cells as ever: who has kept their
 * text needs no cells, and whoever wants them has them filled.
 */
struct cell {
	uint8_t kind;
	bool quote;  /* the text holds a comma or a quote */
	bool steady; /* the number is likely that of the row before: its digits are worth keeping */
	uint8_t span; /* CELL_LATE: columns from this one */
	union {
		uint32_t length; /* of the text */
		uint32_t which;	 /* enum cells_span */
	};
	union {
		uint64_t number;
		const char *text;
		uint64_t id; /* modulo CELLS_PLACES: where to keep the text */
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

/* Most columns a stream has. */
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
	CELLS_FLAGS_CACHED = 32, /* decoded flags that are kept */
	CELLS_FLAGS_SIZE = 112,	 /* bytes of one; a longer one is decoded each time */
	CELLS_TASKS_CACHED = 64,
	CELLS_FILES_CACHED = 256,
	CELLS_RESULTS_CACHED = 512,
	CELLS_BEGINNINGS = 192, /* of rows: what a task did */
	/* Where to keep the texts of spans: the low bits of their ids. */
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

/* Who did it, as the end of a record's head has it. */
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
	uint64_t id; /* of the span at the end of a row; 0: free */
	uint32_t cpu; /* where it was */
	bool quote;
	uint8_t length;
	char text[4 * IOTR_COMMAND_SIZE]; /* the command, escaped */
};

/* All that the columns of another span depend on. */
struct cells_key {
	uint64_t words[3];
};

struct cells_key_slot {
	struct cells_key key;
	uint64_t id; /* 0: free */
};

/* What lasts from row to row. */
struct cells {
	int64_t realtime_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC, set by the owner */
	const struct row *row;	 /* that is being filled, and its task */
	const struct cells_task_slot *task;
	bool late; /* spans are left for later */
	struct disks disks;
	struct cells_task_slot tasks[CELLS_TASKS_CACHED];
	struct cells_key_slot files[CELLS_FILES_CACHED];
	struct cells_key_slot results[CELLS_RESULTS_CACHED];
	struct cells_flags flags[CELLS_FLAGS_CACHED];
	uint8_t operation_lengths[IOTR_STREAM_COUNT][IOTR_OPERATIONS_MAX];
	const char *fs_type; /* of the last row, and its length */
	size_t fs_type_length;
	size_t flags_used; /* of flags_text, in the row that is being filled */
	char flags_text[3 * FLAGS_TEXT_MAX]; /* and other short texts of that row */
	char pair[2 * NAMES_PATH_MAX + 64]; /* "old -> new" */
};

void cells_init(struct cells *cells);

/*
 * Fills one cell per column and returns how many. The texts are valid until the next call, and
 * as long as the row.
 */
size_t cells_fill(struct cells *cells, const struct row *row, struct cell cell[CELLS_MAX]);

/*
 * The same, but of a span there is only the first cell, which is CELL_LATE: cells_fill_span() fills
 * the span, until the next row. The row must last as long.
 */
size_t cells_fill_late(struct cells *cells, const struct row *row, struct cell cell[CELLS_MAX]);
void cells_fill_span(struct cells *cells, struct cell *cell, size_t column);

/* For the streams' own files; the last two fill what may be spans. */
typedef void (*cells_filler)(struct cells *cells, const struct row *row, struct cell *cell);
#define CELLS_FILLER(id, name, flag, folder, doc)                                               \
	void cells_fill_##name(struct cells *cells, const struct row *row, struct cell *cell);
IOTR_STREAMS(CELLS_FILLER)
void cells_fill_vfs_file(struct cells *cells, const struct row *row, struct cell *cell);
void cells_fill_vfs_result(struct cells *cells, const struct row *row, struct cell *cell);

static inline struct cell cell_empty(void)
{
	return (struct cell){ .kind = CELL_EMPTY };
}

static inline struct cell cell_number(enum cell_kind kind, uint64_t number)
{
	return (struct cell){ .kind = (uint8_t)kind, .number = number };
}

/* A number, or nothing when it is IOTR_UNKNOWN. */
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

static inline struct cell cell_device(uint32_t device)
{
	return cell_steady(cell_number(device ? CELL_DEVICE : CELL_EMPTY, device));
}

/* Begins a span. */
static inline struct cell cell_late(enum cells_span which, uint8_t columns, uint64_t id)
{
	return (struct cell){ .kind = CELL_LATE, .span = columns, .which = which, .id = id };
}

/* Of what has come to a place: another id than any before. */
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

/* old -> new; a side that is unknown is left empty, and so is the cell when both are. */
struct cell cell_pair(struct cells *cells, const struct row *row);

/* memcmp() of a few words without a call. */
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

/* Flags by way of the cache. */
enum cells_flags_kind {
	CELLS_FLAGS_VFS, /* of `kind` */
	CELLS_FLAGS_PROTECTION,
	CELLS_FLAGS_MAPPING,
	CELLS_FLAGS_BLOCK,
};

struct cell cell_flags(struct cells *cells, enum cells_flags_kind which, enum iotr_flag_kind kind,
		       uint32_t file_flags, uint32_t flags);
