// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells.h"

static bool has_two_names(uint8_t opcode)
{
	return opcode == IOTR_IOURING_RENAMEAT || opcode == IOTR_IOURING_LINKAT ||
	       opcode == IOTR_IOURING_SYMLINKAT;
}

static struct cell filename(struct cells *cells, const struct row *row)
{
	if (has_two_names(row->record->operation))
		return cell_pair(cells, row);
	return cell_bytes(row->path.text, row->path.length, row->path.quote);
}

void cells_fill_iouring(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_iouring_record *record = (const void *)row->record;

	cell[IOURING_fd] = record->has_fd ? cell_signed(record->fd) : cell_empty();
	cell[IOURING_offset] = cell_known(CELL_U64, record->offset);
	cell[IOURING_length] = cell_steady(cell_known(CELL_U64, record->length));
	cell[IOURING_result] = cell_steady(cell_signed(record->result));
	cell[IOURING_latency_ms] = cell_number(CELL_MS, record->head.latency_ns);
	cell[IOURING_inode] = cell_known(CELL_U64, record->file.inode);
	cell[IOURING_filename] = filename(cells, row);
	cell[IOURING_device] = cell_device(record->file.device);
	cell[IOURING_ring_id] = cell_number(record->ring ? CELL_U64 : CELL_EMPTY, record->ring);
	cell[IOURING_user_data] = cell_number(CELL_HEX, record->user_data);
	cell[IOURING_sqe_flags] = cell_flags(cells, CELLS_FLAGS_VFS, IOTR_FLAGS_SQE, 0, record->sqe_flags);
	cell[IOURING_async] = cell_number(CELL_U64, record->async);
}
