// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells.h"

static const char *const attributions[] = {
	[IOTR_ATTRIBUTION_UNKNOWN] = "unknown",
	[IOTR_ATTRIBUTION_SUBMITTER] = "submitter",
};

static struct cell attribution(uint8_t number)
{
	if (number >= sizeof(attributions) / sizeof(attributions[0]))
		return cell_empty();
	return cell_string(attributions[number]);
}

void cells_fill_block(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_block_record *record = (const void *)row->record;

	cell[BLOCK_sector] = cell_known(CELL_U64, record->sector);
	cell[BLOCK_size] = cell_steady(cell_known(CELL_U64, record->size));
	cell[BLOCK_device] = cell_device(record->device);
	cell[BLOCK_disk] = cell_string(disks_name(&cells->disks, record->disk));
	cell[BLOCK_flags] = cell_flags(cells, CELLS_FLAGS_BLOCK, 0, 0, record->flags);
	cell[BLOCK_latency_ms] = cell_known(CELL_MS, record->head.latency_ns);
	cell[BLOCK_queue_latency_ms] = cell_known(CELL_MS, record->queue_latency_ns);
	cell[BLOCK_error] = cell_steady(cell_number(CELL_U64, record->error));
	cell[BLOCK_inode] = cell_known(CELL_U64, record->inode);
	cell[BLOCK_filename] = cell_bytes(row->path.text, row->path.length, row->path.quote);
	cell[BLOCK_attribution] = attribution(record->attribution);
	cell[BLOCK_request_id] = cell_known(CELL_U64, record->request_id);
}
