/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A row between the router and a format: the record, and what only the consumer thread could know
 * of it. Plain data that owns nothing: it points into a ring, or into a queue.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record.h"

/* Escaped text, with neither a comma nor a quote. length 0: unknown. */
struct row_text {
	const char *text;
	uint32_t length;
};

struct row {
	const struct iotr_record *record;
	struct row_text path;
	struct row_text path2;
	const char *fs_type; /* "" when unknown; outlives every row */
	bool name_lost;	     /* a path or a part of it, or an argument, is missing that the kernel side meant to send */
	/* Out of a queue, of a row that several sessions share: its line, CSV with its names in the clear. Otherwise NULL. */
	const char *line;
	uint32_t line_length;
};
