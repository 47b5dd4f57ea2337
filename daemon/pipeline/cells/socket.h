/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cells that the streams of sockets have in common. */
#pragma once

#include "addresses.h"
#include "cells.h"

enum cells_end {
	CELLS_LOCAL,
	CELLS_REMOTE,
};

/* A name, or the number where that is NULL. */
struct cell cell_named(struct cells *cells, const char *name, int32_t number);

/* A protocol, by name for sockets of IP. */
struct cell cell_protocol(struct cells *cells, int32_t domain, int32_t protocol);

struct cell cell_version(const struct iotr_socket *socket);

/* Address and port of one end; empty where there is none. */
struct cell cell_address(struct cells *cells, const struct iotr_socket *socket, enum cells_end which);
struct cell cell_port(const struct iotr_socket *socket, enum cells_end which);
