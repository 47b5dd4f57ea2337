/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cells by the name of their column: FIRST_timestamp and so on are at the same place in every row,
 * then come those of the stream, VFS_filename and so on, and LAST_ppid counts from VFS_END.
 */
#pragma once

#include "cell.h"
#include "schema.h"

#define CELLS_FIRST(each, column, type, unit, doc)    FIRST_##column,
#define CELLS_LAST(each, column, type, unit, doc)     LAST_##column,
#define CELLS_COLUMN(stream, column, type, unit, doc) stream##_##column,

enum first_column { IOTR_FIRST_COLUMNS(CELLS_FIRST) FIRST_COUNT };
enum last_column { IOTR_LAST_COLUMNS(CELLS_LAST) LAST_COUNT };

#define CELLS_STREAM(id, name, ...)                                                             \
	enum name##_column {                                                                    \
		id##_BEGIN = FIRST_COUNT - 1,                                                   \
		IOTR_##id##_COLUMNS(CELLS_COLUMN) id##_END,                                     \
	};                                                                                      \
	_Static_assert(id##_END + (int)LAST_COUNT <= CELLS_MAX, "more columns than cells");
IOTR_STREAMS(CELLS_STREAM)
