// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells_private.h"

static const char *const attributions[] = {
	[IOTR_ATTRIBUTION_UNKNOWN] = "unknown",
	[IOTR_ATTRIBUTION_SUBMITTER] = "submitter",
	[IOTR_ATTRIBUTION_DIRTIER] = "dirtier",
	[IOTR_ATTRIBUTION_SHARED] = "shared",
	[IOTR_ATTRIBUTION_JOURNAL] = "journal",
	[IOTR_ATTRIBUTION_METADATA] = "metadata",
};

static struct cell attribution(uint8_t number)
{
	if (number >= sizeof(attributions) / sizeof(attributions[0]))
		return cell_empty();
	return cell_string(attributions[number]);
}

CELLS_RECORD(BLOCK, struct iotr_block_record);

CELL(BLOCK, sector, cell_known(CELL_U64, record->sector))
CELL(BLOCK, size, cell_known(CELL_U64, record->size))
CELL(BLOCK, device, cell_device(record->device))
CELL(BLOCK, disk, cell_string(disks_name(&cells->disks, record->disk)))
CELL(BLOCK, flags, cell_flags(cells, CELLS_FLAGS_BLOCK, 0, 0, record->flags))
CELL(BLOCK, latency_ms, cell_known(CELL_MS, record->head.latency_ns))
CELL(BLOCK, queue_latency_ms, cell_known(CELL_MS, record->queue_latency_ns))
CELL(BLOCK, error, cell_number(CELL_U64, record->error))
CELL(BLOCK, inode, cell_known(CELL_U64, record->inode))
CELL(BLOCK, filename, cell_path(row))
CELL(BLOCK, attribution, attribution(record->attribution))
CELL(BLOCK, request_id, cell_known(CELL_U64, record->request_id))
CELL(BLOCK, flow, cell_flow(record->flow))
CELL(BLOCK, dirtiers, cell_known(CELL_U64, record->dirtiers ? record->dirtiers : IOTR_UNKNOWN))
CELL(BLOCK, leaf, cell_number(CELL_U64, disks_leaf(&cells->disks, record->disk)))

CELLS_FILL(BLOCK, block)
