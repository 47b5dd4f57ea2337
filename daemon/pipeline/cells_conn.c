// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/socket.h>

#include "cells_socket.h"

_Static_assert(2 * 2 * ADDRESS_UNIX_MAX <= 3 * FLAGS_TEXT_MAX, "room in a row for quotes, too");

static struct cell unix_name(struct cells *cells, const char *name, size_t length)
{
	char *text = cells->flags_text + cells->flags_used;
	bool quote = false;

	length = address_unix(name, length < IOTR_UNIX_NAME ? length : IOTR_UNIX_NAME, text, &quote);
	cells->flags_used += length;
	return cell_bytes(text, length, quote);
}

static void fill_ends(struct cells *cells, const struct iotr_conn_record *record, struct cell *cell)
{
	const struct iotr_socket *socket = &record->socket;

	cell_end(cells, socket, CELLS_LOCAL, &cell[CONN_local_addr], &cell[CONN_local_port]);
	cell_end(cells, socket, CELLS_REMOTE, &cell[CONN_remote_addr], &cell[CONN_remote_port]);
	if (record->local_length)
		cell[CONN_local_addr] = unix_name(cells, record->local_name, record->local_length);
	if (record->remote_length)
		cell[CONN_remote_addr] = unix_name(cells, record->remote_name, record->remote_length);
}

static struct cell shutdown_how(struct cells *cells, int32_t how)
{
	static const char *const names[] = { "SHUT_RD", "SHUT_WR", "SHUT_RDWR" };
	bool named = how >= 0 && (size_t)how < sizeof(names) / sizeof(names[0]);

	return cell_named(cells, named ? names[how] : NULL, how);
}

void cells_fill_conn(struct cells *cells, const struct row *row, struct cell *cell)
{
	const struct iotr_conn_record *record = (const void *)row->record;
	bool known = record->has_socket;

	cell[CONN_domain] = known ? cell_named(cells, address_domain(record->domain), record->domain) :
				    cell_empty();
	cell[CONN_socket_type] = known ? cell_named(cells, address_type(record->type), record->type) :
					 cell_empty();
	cell[CONN_protocol] = known && record->protocol >= 0 ?
				   cell_protocol(cells, record->domain, record->protocol) :
				   cell_empty();
	cell[CONN_ip_version] = cell_version(&record->socket);
	fill_ends(cells, record, cell);
	cell[CONN_fd] = record->has_fd ? cell_signed(record->fd) : cell_empty();
	cell[CONN_backlog] = record->head.operation == IOTR_CONN_LISTEN ? cell_signed(record->argument) :
									  cell_empty();
	cell[CONN_shutdown_how] = record->head.operation == IOTR_CONN_SHUTDOWN ?
					  shutdown_how(cells, record->argument) :
					  cell_empty();
	if (record->head.operation == IOTR_CONN_CLOSE && !record->head.latency_ns) {
		cell[CONN_latency_ns] = cell[CONN_return_value] = cell_empty();
		return;
	}
	cell[CONN_latency_ns] = cell_number(CELL_U64, record->head.latency_ns);
	cell[CONN_return_value] = cell_signed(record->result);
}
