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
	CELLS_PAIR_EXTRA = 64, /* more than the text between two paths takes */
};

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

#define CELLS_HEAD_TASK offsetof(struct iotr_record, cgroup_id) /* where a record has its task */

/* Whether a record is of this task: word by word, without a call of memcmp(). */
__attribute__((always_inline)) static inline bool cells_same_task(const struct cells_task *task,
								  const struct iotr_record *record)
{
	uint64_t left[sizeof(*task) / 8], right[sizeof(*task) / 8], difference = 0;

	memcpy(left, task, sizeof(*task));
	memcpy(right, (const char *)record + CELLS_HEAD_TASK, sizeof(*task));
#pragma GCC unroll 8
	for (size_t i = 0; i < sizeof(*task) / 8; i++)
		difference |= left[i] ^ right[i];
	return !difference;
}

struct cells_task_slot {
	struct cells_task task;
	bool valid;
	uint8_t length;
	char text[4 * IOTR_COMMAND_SIZE]; /* the command, escaped */
};

/* State that is kept from row to row. */
struct cells {
	int64_t realtime_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC, set by the owner */
	struct disks disks;
	struct cells_task_slot tasks[CELLS_TASKS_CACHED];
	struct cells_flags flags[CELLS_FLAGS_CACHED];
	uint8_t operation_lengths[IOTR_STREAM_COUNT][IOTR_OPERATIONS_MAX];
	const char *fs_type; /* of the last row, and its length */
	size_t fs_type_length;
	size_t flags_used; /* bytes of flags_text that are used for the row that is being filled */
	char flags_text[3 * FLAGS_TEXT_MAX + 16]; /* decoded flags and other short texts of that row */
	char pair[2 * NAMES_PATH_MAX + CELLS_PAIR_EXTRA]; /* "old -> new" */
};

void cells_init(struct cells *cells);

/*
 * Fills one cell per column and returns how many. The texts are valid until the next call, and
 * as long as the row.
 */
size_t cells_fill(struct cells *cells, const struct row *row, struct cell cell[CELLS_MAX]);
