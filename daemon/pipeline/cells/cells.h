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

#include "cell.h"
#include "disks.h"
#include "flags.h"
#include "names.h"
#include "row.h"
#include "schema.h"

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
