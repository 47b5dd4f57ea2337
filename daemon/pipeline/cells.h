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
	CELL_KIND_COUNT,
};

struct cell {
	uint8_t kind;
	bool quote;  /* the text holds a comma or a quote */
	bool steady; /* the number is likely that of the row before: its digits are worth keeping */
	uint8_t span; /* columns from this one, a number, that are known as one by `id`; 0: none */
	union {
		uint32_t length; /* of the text */
		uint32_t id;	 /* of what the span shows: the same cells as ever under this id */
	};
	union {
		uint64_t number;
		const char *text;
	};
};

_Static_assert(sizeof(struct cell) == 16, "cells are copied as two words");

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
	CELLS_FILES_CACHED = 128,
};

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
	uint32_t id; /* 0: free */
	bool quote;
	uint8_t length;
	char text[4 * IOTR_COMMAND_SIZE]; /* the command, escaped */
};

/* What it was done to, and how. */
struct cells_file {
	uint64_t inode;
	uint32_t device;
	uint32_t file_flags;
	uint32_t flags;
	uint32_t flag_kind;
};

struct cells_file_slot {
	struct cells_file file;
	uint32_t id; /* 0: free */
};

/* What lasts from row to row. */
struct cells {
	int64_t realtime_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC, set by the owner */
	uint32_t last_id;	 /* of a span */
	struct disks disks;
	struct cells_task_slot tasks[CELLS_TASKS_CACHED];
	struct cells_file_slot files[CELLS_FILES_CACHED];
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

/* For the streams' own files. */
typedef void (*cells_filler)(struct cells *cells, const struct row *row, struct cell *cell);
#define CELLS_FILLER(id, name, flag, folder, doc)                                               \
	void cells_fill_##name(struct cells *cells, const struct row *row, struct cell *cell);
IOTR_STREAMS(CELLS_FILLER)

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

/* The number begins a span. */
static inline struct cell cell_span(struct cell cell, uint32_t id, uint8_t columns)
{
	cell.id = id;
	cell.span = columns;
	return cell;
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

/* A new id of a span. */
uint32_t cells_new_id(struct cells *cells);

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

/* Flags by way of the cache. */
enum cells_flags_kind {
	CELLS_FLAGS_VFS, /* of `kind` */
	CELLS_FLAGS_PROTECTION,
	CELLS_FLAGS_MAPPING,
	CELLS_FLAGS_BLOCK,
};

struct cell cell_flags(struct cells *cells, enum cells_flags_kind which, enum iotr_flag_kind kind,
		       uint32_t file_flags, uint32_t flags);
