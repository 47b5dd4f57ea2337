/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call as a verb makes it: what goes wrong is told to the user here, in words, and comes back as
 * the exit code it means. One thread.
 */
#pragma once

#include <json-c/json.h>

#include "connection.h"
#include "verb.h"

/* Connects, or complains. EXIT_DONE or the exit code. */
int request_connect(const struct context *context, struct connection *connection);

/*
 * Calls io.iotracer.METHOD and waits for its reply; `*reply` gets the parameters of the answer.
 * EXIT_DONE, or the exit code after complaining (with --json a document with the error is printed).
 */
int request_call(const struct context *context, struct connection *connection, const char *method,
		 struct json_object *parameters, struct json_object **reply);

/* The same with a connection of its own. */
int request(const struct context *context, const char *method, struct json_object *parameters,
	    struct json_object **reply);

/* Connects, and calls a method that answers more than once. EXIT_DONE, or the exit code after complaining. */
int request_more(const struct context *context, struct connection *connection, const char *method,
		 struct json_object *parameters);

/* The parameters of a reply, or the exit code after complaining about its error. */
int request_open_reply(const struct context *context, struct json_object *message,
		       struct json_object **parameters);

/* Complains about a connection that broke. The exit code. */
int request_broken(const struct context *context, int r);

/* The name of the error in a reply, or NULL. */
const char *request_error(struct json_object *message);
