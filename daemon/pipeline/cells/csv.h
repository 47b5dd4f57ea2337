/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cells as text between commas, for the functions that write a stream's rows as CSV. They are inlined with the
 * functions that make the cells, so that of a column whose kind the compiler knows only its own case is left.
 */
#pragma once

#include <string.h>

#include "cells.h"
#include "cells_anonymize.h"
#include "format_values.h"

enum {
	CSV_KEPT_SIZE = 63,
	CSV_TASKS = 64,
	CSV_FILES = 256,
	CSV_RESULTS = 256,
};

/* Text of columns that is likely to come again, with a comma after each column. It is copied whole, with its length. */
struct csv_kept {
	char text[CSV_KEPT_SIZE];
	uint8_t length;
};

/* The text of a column's last device. */
struct csv_device {
	uint64_t device;
	char text[23];
	uint8_t length; /* 0: free */
};

struct csv_task {
	struct cells_task task;
	uint32_t cpu; /* on which the task last was */
	bool valid;
	struct csv_kept begin; /* pid, tid, command */
	struct csv_kept end; /* ppid, uid, cgroup_id, cpu_id */
};

/*
 * All values that some columns show, as words that are compared at once: pieces that are stored one by one and loaded
 * as one would hold up the processor. The functions of these columns read nothing else, so that equal keys mean equal
 * text.
 */
struct csv_file_key {
	uint64_t inode;
	uint64_t device_and_file_flags;
	uint64_t flags_and_kind;
};

struct csv_result_key {
	const char *fs_type; /* the same text is always at the same address */
	uint64_t fd_and_error;
};

struct csv_file {
	struct csv_file_key key;
	struct csv_kept kept; /* length 0: free */
};

struct csv_result {
	struct csv_result_key key;
	struct csv_kept kept;
};

/* State of one stream and writer. */
struct csv {
	enum iotr_stream stream;
	struct cells_anonymizer *anonymizer; /* not owned; NULL: names stay in the clear */
	struct format_date date;
	struct format_mono mono;
	struct csv_device devices[CELLS_MAX];
	struct csv_task tasks[CSV_TASKS];
	struct csv_file files[CSV_FILES];
	struct csv_result results[CSV_RESULTS];
	struct csv_kept operations[IOTR_OPERATIONS_MAX];
};

/* Writes a stream's own columns, with a comma after each, and returns the end. */
typedef char *(*csv_writer)(struct csv *csv, struct cells *cells, const struct row *row, char *out);
#define CSV_WRITER(id, name, ...)                                                               \
	char *csv_write_##name(struct csv *csv, struct cells *cells, const struct row *row, char *out);
IOTR_STREAMS(CSV_WRITER)

#define CSV_INLINE __attribute__((always_inline)) static inline
#define CSV_RARE   __attribute__((noinline))

/* ---- csv.c: what is rare ---- */

char *csv_number(char *out, const struct cell *cell);
void csv_device_new(struct csv_device *kept, const struct cell *cell);

/* ---- cells ---- */

CSV_INLINE char *csv_text(struct csv *csv, char *out, struct cell cell, size_t column)
{
	if (__builtin_expect(!!csv->anonymizer, 0))
		cell = cells_anonymize_one(csv->anonymizer, csv->stream, column, cell);
	return mempcpy(out, cell.text, cell.length);
}

/* Copies the text of the column's last device when it is the same, as it mostly is. */
CSV_INLINE char *csv_device(struct csv_device *kept, char *out, const struct cell *cell)
{
	if (kept->device != cell->number || !kept->length)
		csv_device_new(kept, cell);
	memcpy(out, kept->text, sizeof(kept->text));
	return out + kept->length;
}

/* The last number below CSV_AGAIN_MAX of a row, and its digits: sizes and what was done of them are often equal. */
struct csv_digits {
	uint64_t number;
	uint64_t text; /* `width` bytes */
	unsigned int width;
};

#define CSV_AGAIN_MAX 100000000 /* eight digits, which are one word */

CSV_INLINE struct csv_digits csv_no_digits(void)
{
	return (struct csv_digits){ .number = CSV_AGAIN_MAX };
}

CSV_INLINE char *csv_again(struct csv_digits *digits, char *out, uint64_t number)
{
	if (number >= CSV_AGAIN_MAX)
		return format_large(out, number);
	if (number != digits->number) {
		digits->number = number;
		digits->width = digits_width((uint32_t)number);
		digits->text = (digits_of((uint32_t)number) | DIGITS_ASCII) >> (64 - 8 * digits->width);
	}
	memcpy(out, &digits->text, sizeof(digits->text));
	return out + digits->width;
}

CSV_INLINE char *csv_value(struct csv *csv, struct csv_digits *digits, char *out, const struct cell *cell,
			   size_t column)
{
	if (cell->kind == CELL_EMPTY)
		return out;
	if (cell->kind == CELL_TEXT)
		return csv_text(csv, out, *cell, column);
	if (cell->kind == CELL_U64)
		return cell->again ? csv_again(digits, out, cell->number) : format_u64(out, cell->number);
	if (cell->kind == CELL_DEVICE)
		return csv_device(&csv->devices[column], out, cell);
	if (cell->kind == CELL_TIME)
		return format_time(&csv->date, out, cell->number);
	if (cell->kind == CELL_MONO)
		return format_mono(&csv->mono, out, cell->number);
	return csv_number(out, cell);
}

/* Writes a cell, and a comma. */
CSV_INLINE char *csv_put(struct csv *csv, struct csv_digits *digits, char *out, struct cell cell, size_t column)
{
	out = csv_value(csv, digits, out, &cell, column);
	*out++ = ',';
	return out;
}

/* ---- text that is kept ---- */

CSV_INLINE char *csv_copy(char *out, const struct csv_kept *kept)
{
	memcpy(out, kept, sizeof(*kept));
	return out + kept->length;
}

/* Keeps what was written, if it is short. */
static inline void csv_keep(struct csv_kept *kept, const char *text, size_t length)
{
	kept->length = length <= CSV_KEPT_SIZE ? (uint8_t)length : 0;
	memcpy(kept->text, text, kept->length);
}

static inline uint64_t csv_hash(uint64_t value)
{
	return value * 0x9e3779b97f4a7c15ULL >> 48;
}
