// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells_private.h"

#define PAGE_BYTES 4096 /* the page size of x86 */

static uint64_t offset(uint64_t index)
{
	return index == IOTR_UNKNOWN ? index : index * PAGE_BYTES;
}

CELLS_RECORD(CACHE, struct iotr_cache_record);

CELL(CACHE, inode, cell_known(CELL_U64, record->file.inode))
CELL(CACHE, index, cell_known(CELL_U64, record->index))
CELL(CACHE, filename, cell_path(row))
CELL(CACHE, size, cell_known(CELL_U64, record->size))
CELL(CACHE, offset, cell_known(CELL_U64, offset(record->index)))
CELL(CACHE, count, cell_number(CELL_U64, record->count))
CELL(CACHE, device, cell_device(record->file.device))
CELL(CACHE, flow, cell_flow(record->flow))

CELLS_FILL(CACHE, cache)
