// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells.h"

void cells_fill_pagefault(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_pagefault_record *record = (const void *)row->record;

	(void)cells;
	cell[PAGEFAULT_fault_type] = cell_string(record->write ? "WRITE" : "READ");
	cell[PAGEFAULT_severity] = cell_string(record->major ? "MAJOR" : "MINOR");
	cell[PAGEFAULT_address] = cell_number(CELL_HEX, record->address);
	cell[PAGEFAULT_inode] = cell_known(CELL_U64, record->file.inode);
	cell[PAGEFAULT_offset] = cell_known(CELL_U64, record->index);
	cell[PAGEFAULT_filename] = cell_bytes(row->path.text, row->path.length, row->path.quote);
	cell[PAGEFAULT_device] = cell_device(record->file.device);
	cell[PAGEFAULT_latency_ns] = cell_number(CELL_U64, record->head.latency_ns);
}
