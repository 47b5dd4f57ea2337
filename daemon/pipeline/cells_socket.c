// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells_socket.h"

#include <stdio.h>
#include <sys/socket.h>

struct cell cell_named(struct cells *cells, const char *name, int32_t number)
{
	char *text = cells->flags_text + cells->flags_used;
	size_t length;

	if (name)
		return cell_string(name);
	length = (size_t)sprintf(text, "%d", number);
	cells->flags_used += length;
	return cell_bytes(text, length, false);
}

struct cell cell_protocol(struct cells *cells, int32_t domain, int32_t protocol)
{
	bool ip = domain == AF_INET || domain == AF_INET6;

	return cell_named(cells, ip ? address_protocol(protocol) : NULL, protocol);
}

struct cell cell_version(const struct iotr_socket *socket)
{
	unsigned int version = address_version(socket);

	return version ? cell_number(CELL_U64, version) : cell_empty();
}

void cell_end(struct cells *cells, const struct iotr_socket *socket, enum cells_end which,
	      struct cell *address, struct cell *port)
{
	const uint8_t *end = which == CELLS_LOCAL ? socket->local : socket->remote;
	uint16_t number = which == CELLS_LOCAL ? socket->local_port : socket->remote_port;
	char *text = cells->flags_text + cells->flags_used;
	size_t length;

	*address = *port = cell_empty();
	if (!address_known(socket, end, number))
		return;
	length = address_text(socket, end, text);
	cells->flags_used += length;
	*address = cell_bytes(text, length, false);
	if (address_has_ports(socket))
		*port = cell_number(CELL_U64, number);
}
