// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/socket.h>

#include "cells_private.h"
#include "socket.h"

_Static_assert(2 * 2 * ADDRESS_UNIX_MAX <= 3 * FLAGS_TEXT_MAX, "room in a row of JSON, where backslashes are two, too");

static struct cell unix_name(struct cells *cells, const char *name, size_t length)
{
	char *text = cells->flags_text + cells->flags_used;

	length = address_unix(name, length < IOTR_UNIX_NAME ? length : IOTR_UNIX_NAME, text);
	cells->flags_used += length;
	return cell_bytes(text, length);
}

static struct cell shutdown_how(struct cells *cells, int32_t how)
{
	static const char *const names[] = { "SHUT_RD", "SHUT_WR", "SHUT_RDWR" };
	bool named = how >= 0 && (size_t)how < sizeof(names) / sizeof(names[0]);

	return cell_named(cells, named ? names[how] : NULL, how);
}

static struct cell protocol(struct cells *cells, const struct iotr_conn_record *record)
{
	if (!record->has_socket || record->protocol < 0)
		return cell_empty();
	return cell_protocol(cells, record->domain, record->protocol);
}

static struct cell local_addr(struct cells *cells, const struct iotr_conn_record *record)
{
	if (record->local_length)
		return unix_name(cells, record->local_name, record->local_length);
	return cell_address(cells, &record->socket, CELLS_LOCAL);
}

static struct cell remote_addr(struct cells *cells, const struct iotr_conn_record *record)
{
	if (record->remote_length)
		return unix_name(cells, record->remote_name, record->remote_length);
	return cell_address(cells, &record->socket, CELLS_REMOTE);
}

static struct cell named_if(struct cells *cells, bool known, const char *name, int32_t number)
{
	return known ? cell_named(cells, name, number) : cell_empty();
}

/* Whether it is a close by close_range() or by the end of a process: it is recorded before it happens. */
static bool ends_unseen(const struct iotr_conn_record *record)
{
	return record->head.operation == IOTR_CONN_CLOSE && !record->head.latency_ns;
}

CELLS_RECORD(CONN, struct iotr_conn_record);

CELL(CONN, domain, named_if(cells, record->has_socket, address_domain(record->domain), record->domain))
CELL(CONN, socket_type, named_if(cells, record->has_socket, address_type(record->type), record->type))
CELL(CONN, protocol, protocol(cells, record))
CELL(CONN, ip_version, cell_version(&record->socket))
CELL(CONN, local_addr, local_addr(cells, record))
CELL(CONN, local_port, cell_port(&record->socket, CELLS_LOCAL))
CELL(CONN, remote_addr, remote_addr(cells, record))
CELL(CONN, remote_port, cell_port(&record->socket, CELLS_REMOTE))
CELL(CONN, fd, cell_signed_if(record->has_fd, record->fd))
CELL(CONN, backlog, cell_signed_if(record->head.operation == IOTR_CONN_LISTEN, record->argument))
CELL(CONN, shutdown_how, record->head.operation == IOTR_CONN_SHUTDOWN ? shutdown_how(cells, record->argument) : cell_empty())
CELL(CONN, latency_ns, ends_unseen(record) ? cell_empty() : cell_number(CELL_U64, record->head.latency_ns))
CELL(CONN, return_value, ends_unseen(record) ? cell_empty() : cell_result(record->result))

CELLS_FILL(CONN, conn)
