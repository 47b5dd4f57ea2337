// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells.h"

#define PAGE_BYTES 4096 /* x86's */

static uint64_t offset(uint64_t index)
{
	return index == IOTR_UNKNOWN ? index : index * PAGE_BYTES;
}

void cells_fill_cache(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_cache_record *record = (const void *)row->record;

	(void)cells;
	cell[CACHE_inode] = cell_known(CELL_U64, record->file.inode);
	cell[CACHE_index] = cell_known(CELL_U64, record->index);
	cell[CACHE_filename] = cell_bytes(row->path.text, row->path.length, row->path.quote);
	cell[CACHE_size] = cell_steady(cell_known(CELL_U64, record->size));
	cell[CACHE_offset] = cell_known(CELL_U64, offset(record->index));
	cell[CACHE_count] = cell_steady(cell_number(CELL_U64, record->count));
	cell[CACHE_device] = cell_device(record->file.device);
}
