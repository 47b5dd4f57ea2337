/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who does what, summed up: rows by process, operation and file, or by one of these, or by a name; those of each stream by
 * themselves, as a call and what it becomes are the same bytes and the same time. Bounded: rows for which there is
 * no more room count as others. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "row.h"

enum {
	TOP_GROUPS_MAX = 8192,
	TOP_PATH_MAX = 512, /* bytes of a path that are kept */
};

enum top_order {
	TOP_ROWS,
	TOP_BYTES,
	TOP_LATENCY, /* the time that all of them took */
	TOP_ORDER_COUNT,
};

/* What all rows of a group have in common; bits. */
enum top_by {
	TOP_BY_PROCESS = 1,
	TOP_BY_OPERATION = 2,
	TOP_BY_FILE = 4,
	TOP_BY_DIRECTORY = 8, /* of the file */
	TOP_BY_NAME = 16,     /* that the caller gives them */
};

/* The name of a row, for TOP_BY_NAME: escaped, valid until the next call; length 0: it has none. */
typedef struct row_text (*top_namer)(const struct row *row, void *userdata);

/* Whether a row is of a disk that is made of others, which do the same again. */
typedef bool (*top_stacked)(const struct row *row, void *userdata);

/* Of what its rows do not have in common, it tells that of the first row. */
struct top_group {
	uint32_t pid;
	uint8_t stream;
	uint8_t operation;
	bool stacked; /* of disks that are made of others */
	char command[IOTR_COMMAND_SIZE]; /* of the first row; not escaped, perhaps not terminated */
	uint64_t rows;
	uint64_t read, written; /* bytes that the operations moved */
	uint64_t latency_ns; /* sum */
	uint64_t latency_max_ns;
	uint32_t path_length;
	char path[]; /* of the file or directory, or the name; escaped; its beginning where it is long */
};

struct top;

/*
 * `by`: bits of enum top_by, of which the last three exclude each other. Without TOP_BY_NAME there is no namer; `stacked` may be NULL:
 * no disk is.
 */
int top_new(unsigned int by, top_namer namer, top_stacked stacked, void *userdata, struct top **ret);
void top_free(struct top *top); /* takes NULL */

void top_add(struct top *top, const struct row *row);

/* The greatest first; the array and what it leads to belong to `top`. */
size_t top_sort(struct top *top, enum top_order order, const struct top_group *const **groups);

/* Rows in all, and those that are in no group. */
uint64_t top_rows(const struct top *top);
uint64_t top_others(const struct top *top);
