/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One method call of a client, from its message to its last reply. Owned by the client, main thread only. A
 * handler either sends the last reply before it returns, or keeps the call open with call_keep() and sends the
 * reply later; only then does the client handle its next message.
 *
 * Reply and error functions take ownership of `parameters` (NULL: none). They return nothing, as only the
 * connection can fail, and the client handles that.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <sys/types.h>

struct argument;
struct connection;
struct control;
struct rights;

struct call {
	struct connection *connection;
	struct control *control;
	const struct rights *caller; /* the caller's user with all groups, from the kernel; the connection's */

	char *method;
	struct json_object *parameters; /* an object, never NULL */
	bool more;
	bool oneway;

	bool done;   /* the last reply has been sent */
	void *state; /* of a call that is kept open */
	void (*free_state)(void *state);
	void (*on_end)(struct call *call); /* the caller sends no more, but may still read; NULL: the call goes on */
};

/* Takes ownership of `parameters` only. */
int call_new(struct connection *connection, struct control *control, const char *method,
	     struct json_object *parameters, struct call **ret);
void call_free(struct call *call);

/* Reads the parameters with arguments_read(); on failure InvalidParameter has been replied. */
int call_arguments(struct call *call, const struct argument *rows, void *target);

/* The call stays open, with `state`, until the last reply is sent or the client disconnects. */
void call_keep(struct call *call, void *state, void (*free_state)(void *state));

void call_reply(struct call *call, struct json_object *parameters);
void call_error(struct call *call, const char *error, struct json_object *parameters);

/*
 * Sends a reply that others will follow. -ENOBUFS: the client does not read fast enough, and nothing was sent.
 */
int call_reply_more(struct call *call, struct json_object *parameters);

/* Replies InvalidParameter, with a sentence. */
void call_invalid(struct call *call, const char *parameter, const char *message);
/* Replies io.iotracer.Failed, with a sentence. */
void call_failed(struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
