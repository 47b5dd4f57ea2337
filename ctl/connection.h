/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client's end of the control socket: calls out, replies in, blocking. One thread; whoever
 * holds the connection releases it.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

#include "protocol.h"

struct connection {
	int fd;
	struct iotr_buffer in;
};

#define CONNECTION_NONE ((struct connection){ .fd = -1 })

int connection_open(const char *path, struct connection *connection);
void connection_close(struct connection *connection);

/* Sends a call; `more`: several replies are welcome. `parameters` stay the caller's. */
int connection_send(struct connection *connection, const char *method,
		    struct json_object *parameters, bool more);

/* Whether a reply is here already, so that receiving does not wait. */
bool connection_pending(struct connection *connection);

/* The next reply. -ECONNRESET: the daemon closed the connection. -EINTR: a signal came.
 * -EBADMSG: that was no reply. */
int connection_receive(struct connection *connection, struct json_object **reply);
