/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client's end of the control socket: sends calls, receives replies, blocking. One thread; released by its
 * owner.
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

/* Sends a call; `more` asks for several replies. The caller keeps `parameters`. */
int connection_send(struct connection *connection, const char *method,
		    struct json_object *parameters, bool more);

/* Whether a reply has arrived already, so that receiving it does not wait. */
bool connection_pending(struct connection *connection);

/*
 * Receives the next reply. -ECONNRESET: the daemon closed the connection. -EINTR: a signal came. -EBADMSG: the
 * message was not a reply.
 */
int connection_receive(struct connection *connection, struct json_object **reply);
