/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects the cells of a table row by row, then prints them in aligned columns. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "output/text.h"

/* All-zero but for the first ones, up to `width`, which the caller sets. */
struct table {
	size_t columns; /* 32 at most */
	uint32_t right; /* bit per column: numbers, aligned to the right */
	int indent;
	int width; /* columns of the screen, to which the last one is shortened, by its begin; 0: no limit */
	struct table_cell {
		char *text;
		enum style style;
	} * cells;
	size_t count, capacity;
};

void table_add(struct table *table, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The first row; the heads are joined by `|`. May be called again for more of them. */
void table_heads(struct table *table, const char *heads);

void table_print(const struct table *table, FILE *stream);
void table_done(struct table *table);
