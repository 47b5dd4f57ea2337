/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets as text: their ends, and the names of what they are. Pure functions, usable from any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "escape.h"
#include "record.h"

enum {
	ADDRESS_MAX = 64,	 /* bytes of an IP address's text */
	ADDRESS_UNIX_MAX = ESCAPE_MAX(IOTR_UNIX_NAME) + 1,
};

/*
 * The IP version: 4, 6, or 0 for sockets that are not of IP. An IPv6 socket with IPv4-mapped
 * addresses counts as 4.
 */
unsigned int address_version(const struct iotr_socket *socket);

/* Whether this end is known, that is, has an address or a port. `end` is one of the two of the socket. */
bool address_known(const struct iotr_socket *socket, const uint8_t end[16], uint16_t port);

/* Whether the kind of socket has ports at all. */
bool address_has_ports(const struct iotr_socket *socket);

/* Writes the address as RFC 5952 has it, at most ADDRESS_MAX bytes without a NUL, and returns how many. */
size_t address_text(const struct iotr_socket *socket, const uint8_t end[16], char *out);

/*
 * The name of a Unix socket as in sun_path: a path, or '@' and an abstract name. Writes at most
 * ADDRESS_UNIX_MAX bytes without a NUL and returns how many.
 */
size_t address_unix(const char *name, size_t length, char *out);

/* Names of these constants, NULL for a value without a name. A protocol is that of an IP socket. */
const char *address_domain(int32_t domain);
const char *address_type(int32_t type);
const char *address_protocol(int32_t protocol);
