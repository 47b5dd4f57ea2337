/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client: its connection, the call that it has under way, and its process, whose operations make no rows.
 * Its calls are handled one at a time, in order. Main thread only.
 */
#pragma once

#include <stdint.h>

#include "context.h"
#include "rights.h"
#include "role.h"

struct client;

/* The connection is over; the client frees itself right after that. */
typedef void (*client_gone)(struct client *client, void *userdata);

/* Takes the descriptor on success; copies the caller. */
int client_new(struct control *control, int fd, const struct rights *caller, enum role role, client_gone gone,
	       void *userdata, struct client **ret);
/* Ends an open call, writes as much output as the socket accepts at once, closes the connection. Takes NULL. */
void client_free(struct client *client);

/* The user at the other end, from the kernel. */
const struct rights *client_caller(const struct client *client);

/* Time since which the client is idle, CLOCK_MONOTONIC; UINT64_MAX: it is not idle. */
uint64_t client_idle_since(const struct client *client);

/* Calls `gone`, closes the connection and frees the client. */
void client_close(struct client *client);
