/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One method call of a client, from its message to its last reply. Owned by the client, main
 * thread only. A handler either sends the last reply before it returns, or leaves the call open
 * with call_keep() and sends it later; the client takes up its next message after that.
 *
 * Reply and error functions take ownership of `parameters` (NULL: none) and, as the connection is
 * what may fail and is dealt with by the client, return nothing.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <sys/types.h>

struct client;
struct control;

struct call {
	struct client *client;
	struct control *control;
	uid_t uid; /* who asks, as the kernel says */

	char *method;
	struct json_object *parameters; /* an object, never NULL */
	bool more;
	bool oneway;

	bool done;   /* the last reply was sent */
	void *state; /* of a call left open */
	void (*free_state)(void *state);
};

/* Takes ownership of `parameters` alone. */
int call_new(struct client *client, struct control *control, const char *method,
	     struct json_object *parameters, struct call **ret);
void call_free(struct call *call);

/* The call lives on with `state`, until a reply is sent or the client goes. */
void call_keep(struct call *call, void *state, void (*free_state)(void *state));

void call_reply(struct call *call, struct json_object *parameters);
void call_error(struct call *call, const char *error, struct json_object *parameters);

/* A reply that more follow. -ENOBUFS: the reader is behind, nothing was sent. */
int call_reply_more(struct call *call, struct json_object *parameters);

/* InvalidParameter, with a sentence. */
void call_invalid(struct call *call, const char *parameter, const char *message);
/* io.iotracer.Failed, with a sentence. */
void call_failed(struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
