// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells_private.h"
#include "socket.h"

static struct cell msg_flags(struct cells *cells, const struct iotr_net_record *record)
{
	if (!record->has_flags)
		return cell_empty();
	return cell_flags(cells, CELLS_FLAGS_VFS, IOTR_FLAGS_MSG, 0, record->flags);
}

static enum cells_end source_of(const struct iotr_net_record *record)
{
	return record->head.operation == IOTR_NET_SEND ? CELLS_LOCAL : CELLS_REMOTE;
}

static enum cells_end dest_of(const struct iotr_net_record *record)
{
	return record->head.operation == IOTR_NET_SEND ? CELLS_REMOTE : CELLS_LOCAL;
}

CELLS_RECORD(NET, struct iotr_net_record);

CELL(NET, protocol, cell_protocol(cells, record->socket.family, record->socket.protocol))
CELL(NET, ip_version, cell_version(&record->socket))
CELL(NET, source_addr, cell_address(cells, &record->socket, source_of(record)))
CELL(NET, source_port, cell_port(&record->socket, source_of(record)))
CELL(NET, dest_addr, cell_address(cells, &record->socket, dest_of(record)))
CELL(NET, dest_port, cell_port(&record->socket, dest_of(record)))
CELL(NET, size, cell_known(CELL_U64, record->size))
CELL(NET, bytes_completed, cell_number(CELL_U64, record->bytes))
CELL(NET, latency_ns, cell_number(CELL_U64, record->head.latency_ns))
CELL(NET, error_code, cell_number(record->error == IOTR_DIED ? CELL_EMPTY : CELL_U64, record->error))
CELL(NET, msg_flags, msg_flags(cells, record))

CELLS_FILL(NET, net)
