/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks of segments that are removed: an empty, hidden file beside them, made before and removed when the manifest tells of it. So
 * who finds a segment gone that the manifest has knows that it was removed, to which limit, and what was in it, though the
 * manifest was never told. Its name has all of that: .NAME.ROWS.BYTES.LIMIT. Functions, usable from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "removal.h"
#include "segment_name.h"

enum { SEGMENT_MARK_MAX = SEGMENT_NAME_MAX + 64 };

struct segment_mark {
	struct segment_name segment;
	uint64_t rows, bytes; /* of its text */
	enum iotr_removal limit;
};

/* `name`: of the segment, without an ending. */
void segment_mark_format(char mark[SEGMENT_MARK_MAX], const char *name, uint64_t rows, uint64_t bytes, enum iotr_removal limit);

/* Parses the name of a file. False: it is no mark of a segment in that folder; `ret` is undefined. */
bool segment_mark_parse(const char *folder, const char *file, struct segment_mark *ret);
