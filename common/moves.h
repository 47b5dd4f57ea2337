/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What operations move, for whoever sums it up: data that is read and data that is written stand apart. */
#pragma once

#include "schema.h"

/* As bits. */
enum iotr_moves {
	IOTR_MOVES_READ = 1,
	IOTR_MOVES_WRITTEN = 2,
	IOTR_MOVES_COPY = 4, /* with both of the others: the file of the row is the one that is read */
};

/*
 * Bits of an operation of the stream, by its number; 0: it moves no data, as one that reads names or attributes, or there is no such
 * operation. Of the cache it is what reads asked for, and what was made dirty. Any thread.
 */
unsigned int iotr_moves(enum iotr_stream stream, int operation);
