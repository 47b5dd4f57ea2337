/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who does what, summed up: rows by process, operation and file. Bounded: rows for which there is
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

struct top_group {
	uint32_t pid;
	uint8_t stream;
	uint8_t operation;
	char command[IOTR_COMMAND_SIZE]; /* of the first row; not escaped, perhaps not terminated */
	uint64_t rows;
	uint64_t bytes;	     /* moved by the operations */
	uint64_t latency_ns; /* sum */
	uint64_t latency_max_ns;
	uint32_t path_length;
	char path[]; /* escaped; its beginning where it is long */
};

struct top;

int top_new(struct top **ret);
void top_free(struct top *top); /* takes NULL */

void top_add(struct top *top, const struct row *row);

/* The greatest first; the array and what it leads to belong to `top`. */
size_t top_sort(struct top *top, enum top_order order, const struct top_group *const **groups);

/* Rows in all, and those that are in no group. */
uint64_t top_rows(const struct top *top);
uint64_t top_others(const struct top *top);
