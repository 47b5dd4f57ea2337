// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells_private.h"
#include "two_names.h"

CELLS_RECORD(IOURING, struct iotr_iouring_record);

CELL(IOURING, fd, cell_signed_if(record->has_fd, record->fd))
CELL(IOURING, offset, cell_known(CELL_U64, record->offset))
CELL(IOURING, length, cell_again(cell_known(CELL_U64, record->length)))
CELL(IOURING, result, cell_again(cell_signed(record->result)))
CELL(IOURING, latency_ms, cell_number(CELL_MS, record->head.latency_ns))
CELL(IOURING, inode, cell_known(CELL_U64, record->file.inode))
CELL(IOURING, filename, two_names(&record->head) ? cell_pair(cells, row) : cell_path(row))
CELL(IOURING, device, cell_device(record->file.device))
CELL(IOURING, ring_id, cell_number(record->ring ? CELL_U64 : CELL_EMPTY, record->ring))
CELL(IOURING, user_data, cell_number(CELL_HEX, record->user_data))
CELL(IOURING, sqe_flags, cell_flags(cells, CELLS_FLAGS_VFS, IOTR_FLAGS_SQE, 0, record->sqe_flags))
CELL(IOURING, async, cell_number(CELL_U64, record->async))
CELL(IOURING, flow, cell_flow(record->flow))

CELLS_FILL(IOURING, iouring)
