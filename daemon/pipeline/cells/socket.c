// SPDX-License-Identifier: GPL-2.0-or-later
#include "socket.h"

#include <stdio.h>
#include <sys/socket.h>

#include "cells_private.h"

struct cell cell_named(struct cells *cells, const char *name, int32_t number)
{
	char *text = cells->flags_text + cells->flags_used;
	size_t length;

	if (name)
		return cell_string(name);
	length = (size_t)sprintf(text, "#%d", number);
	cells->flags_used += length;
	return cell_bytes(text, length);
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

static const uint8_t *address_at(const struct iotr_socket *socket, enum cells_end which)
{
	return which == CELLS_LOCAL ? socket->local : socket->remote;
}

static uint16_t port_at(const struct iotr_socket *socket, enum cells_end which)
{
	return which == CELLS_LOCAL ? socket->local_port : socket->remote_port;
}

struct cell cell_address(struct cells *cells, const struct iotr_socket *socket, enum cells_end which)
{
	const uint8_t *end = address_at(socket, which);
	char *text = cells->flags_text + cells->flags_used;
	size_t length;

	if (!address_known(socket, end, port_at(socket, which)))
		return cell_empty();
	length = address_text(socket, end, text);
	cells->flags_used += length;
	return cell_bytes(text, length);
}

struct cell cell_port(const struct iotr_socket *socket, enum cells_end which)
{
	uint16_t port = port_at(socket, which);

	if (!address_known(socket, address_at(socket, which), port) || !address_has_ports(socket))
		return cell_empty();
	return cell_number(CELL_U64, port);
}
