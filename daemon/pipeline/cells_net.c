// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells_socket.h"

void cells_fill_net(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_net_record *record = (const void *)row->record;
	const struct iotr_socket *socket = &record->socket;
	bool sends = record->head.operation == IOTR_NET_SEND;

	cell[NET_protocol] = cell_protocol(cells, socket->family, socket->protocol);
	cell[NET_ip_version] = cell_version(socket);
	cell_end(cells, socket, CELLS_LOCAL, &cell[sends ? NET_source_addr : NET_dest_addr],
		 &cell[sends ? NET_source_port : NET_dest_port]);
	cell_end(cells, socket, CELLS_REMOTE, &cell[sends ? NET_dest_addr : NET_source_addr],
		 &cell[sends ? NET_dest_port : NET_source_port]);
	cell[NET_size] = cell_known(CELL_U64, record->size);
	cell[NET_bytes_completed] = cell_number(CELL_U64, record->bytes);
	cell[NET_latency_ns] = cell_number(CELL_U64, record->head.latency_ns);
	cell[NET_error_code] = cell_number(CELL_U64, record->error);
	cell[NET_msg_flags] = record->has_flags ? cell_flags(cells, CELLS_FLAGS_VFS, IOTR_FLAGS_MSG,
							     0, record->flags) :
						  cell_empty();
}
