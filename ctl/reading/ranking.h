/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows sorted by a column, in bounded memory: the first of so many, or all that fit. One thread. */
#pragma once

#include <stddef.h>

#include "reading/merge.h"

enum { RANKING_BYTES_MAX = 256 << 20 };

/* All-zero but for `column` and `limit`. */
struct ranking {
	const char *column; /* "latency" is that of any stream */
	size_t limit;	    /* 0: all */
	struct ranked {
		struct merged_row *row;
		bool has_number;
		long double number; /* any value of 64 bits, exactly */
	} *rows;
	size_t count, room, bytes;
};

/* Takes the row. -EFBIG: the rows are more than RANKING_BYTES_MAX; -ENOMEM. */
int ranking_add(struct ranking *ranking, struct merged_row *row);

/* Sorts them: greatest numbers first, then texts by their bytes, then those without a value; else in the order of time. */
void ranking_sort(struct ranking *ranking);

void ranking_done(struct ranking *ranking);
