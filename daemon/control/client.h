/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection: bytes in, messages out, in order. Main thread only. The server owns it and is notified
 * through `gone` when there is nothing left to do; the client frees itself right after that.
 *
 * What a peer can use is bounded: at most IOTR_MESSAGE_MAX bytes of input are queued, and CLIENT_OUTPUT_MAX
 * bytes of output; while CLIENT_OUTPUT_BEHIND bytes are queued, no further call is handled. The connection is
 * closed if the peer does not read for too long, or leaves a message incomplete.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <sys/types.h>

#include "context.h"
#include "rights.h"

enum {
	CLIENT_OUTPUT_MAX = 4 << 20,
	CLIENT_OUTPUT_BEHIND = 1 << 20,
};

struct client;

typedef void (*client_gone)(struct client *client, void *userdata);

/* Takes the descriptor on success; copies the caller. */
int client_new(struct control *control, int fd, const struct rights *caller, client_gone gone, void *userdata,
	       struct client **ret);
/* Ends open calls, writes as much output as the socket accepts at once, closes the connection. Takes NULL. */
void client_free(struct client *client);

/* The user at the other end, from the kernel. */
const struct rights *client_caller(const struct client *client);

/* Time since which the connection is idle, CLOCK_MONOTONIC; UINT64_MAX: it is not idle. */
uint64_t client_idle_since(const struct client *client);

/* Calls `gone`, closes the connection and frees the client. */
void client_close(struct client *client);

/* Queues a message. A client with more than CLIENT_OUTPUT_MAX bytes of queued output is disconnected. */
void client_send(struct client *client, struct json_object *message);
/* Whether so much output is queued that nothing optional should be added. */
bool client_behind(const struct client *client);
/* Makes the client handle its calls and buffers at the next turn of the loop. */
void client_wake(struct client *client);
