/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One value of a row: what a stream's columns are made of, and what a file format writes without knowing the
 * stream. Plain data; texts are borrowed. Usable from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

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
	CELL_KIND_COUNT,
};

struct cell {
	uint8_t kind;
	bool again; /* the number is likely one that the row has shown before: as a size, and what was done of it */
	uint32_t length; /* of the text */
	union {
		uint64_t number;
		const char *text;
	};
};

_Static_assert(sizeof(struct cell) == 16, "cells are copied as two words");

/* The largest number of columns of a stream. */
#define CELLS_MAX 32

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

static inline struct cell cell_again(struct cell cell)
{
	cell.again = true;
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

/* What a call returned; empty where its thread died in it. */
static inline struct cell cell_result(int64_t result)
{
	return cell_signed_if(result != -IOTR_DIED, result);
}

static inline struct cell cell_device(uint32_t device)
{
	return cell_number(device ? CELL_DEVICE : CELL_EMPTY, device);
}

static inline struct cell cell_bytes(const char *text, size_t length)
{
	return (struct cell){ .kind = length ? CELL_TEXT : CELL_EMPTY,
			      .length = (uint32_t)length,
			      .text = text };
}
