/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls for the verbs: errors are explained to the user here and returned as the matching exit code. One
 * thread.
 */
#pragma once

#include <json-c/json.h>

#include "request/connection.h"
#include "verb.h"

/* Moves the argument NAME, if it was given, to the parameter "name". */
void take_name(struct json_object *parameters, int argc, char **argv);

/* Connects. Returns EXIT_DONE, or the exit code after printing an error. */
int request_connect(const struct context *context, struct connection *connection);

/*
 * Calls io.iotracer.METHOD and waits for its reply, whose parameters are returned in `*reply`. Returns
 * EXIT_DONE, or the exit code after printing an error (with --json, as a document).
 */
int request_call(const struct context *context, struct connection *connection, const char *method,
		 struct json_object *parameters, struct json_object **reply);

/* The same on a new connection. */
int request(const struct context *context, const char *method, struct json_object *parameters,
	    struct json_object **reply);

/*
 * Connects, and calls a method that replies more than once. Returns EXIT_DONE, or the exit code after printing
 * an error.
 */
int request_more(const struct context *context, struct connection *connection, const char *method,
		 struct json_object *parameters);

/*
 * Receives the next reply to such a call, and whether it is the last. Returns EXIT_DONE and its parameters in `*reply`, NULL and
 * the last if a signal came instead; or the exit code after printing an error.
 */
int request_next(const struct context *context, struct connection *connection, struct json_object **reply, bool *last);

/* Gets the parameters of a reply. If the reply is an error, prints it and returns the exit code. */
int request_open_reply(const struct context *context, struct json_object *message,
		       struct json_object **parameters);

/* Prints an error about a broken connection. Returns the exit code. */
int request_broken(int r);

/* The name of the error in a reply, or NULL. */
const char *request_error(struct json_object *message);

/* Prints the warnings of a reply on stderr. */
void complain_warnings(struct json_object *reply);

/* Prints each session for which a call about all failed, and why. Returns an exit code. */
int complain_failed(struct json_object *reply);
