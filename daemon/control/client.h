/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection: bytes in, messages out, in order. Main thread only; owned by the server, which
 * is told through `gone` when there is nothing left to do (the client frees itself right after).
 *
 * Nothing a peer does is unbounded: IOTR_MESSAGE_MAX bytes of input wait at most, CLIENT_OUTPUT_MAX
 * bytes of output; while CLIENT_OUTPUT_BEHIND bytes wait no further call is taken up; a reader that
 * takes nothing and a message that stays half sent end with the connection.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <sys/types.h>

#include "context.h"

enum {
	CLIENT_OUTPUT_MAX = 4 << 20,
	CLIENT_OUTPUT_BEHIND = 1 << 20,
};

struct client;

typedef void (*client_gone)(struct client *client, void *userdata);

/* Takes the descriptor when it succeeds. */
int client_new(struct control *control, int fd, uid_t uid, client_gone gone, void *userdata,
	       struct client **ret);
/* Ends open calls, writes what the peer takes at once, closes. Takes NULL. */
void client_free(struct client *client);

uid_t client_uid(const struct client *client);

/* Queues a message. Beyond CLIENT_OUTPUT_MAX the client is cut off. */
void client_send(struct client *client, struct json_object *message);
/* Whether so much output waits that nothing optional should be added. */
bool client_behind(const struct client *client);
/* Has the client look after its calls and buffers at the next turn of the loop. */
void client_wake(struct client *client);
