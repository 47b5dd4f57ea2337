/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors of the engine as replies of io.iotracer. Main thread only. */
#pragma once

#include "call.h"
#include "engine.h"
#include "session_spec.h"

/* An error with one parameter, which is a string. */
void reply_error(struct call *call, const char *error, const char *key, const char *value);

void reply_no_such_session(struct call *call, const char *name);

/* The folder cannot be written to, for the given reason. */
void reply_output(struct call *call, const char *path, const char *reason);

/* The session keeps its rows in memory, but the method needs files. */
void reply_in_memory(struct call *call, const char *name);

/* The reason why a session could not be started. */
void reply_start_failed(struct call *call, const struct iotr_session_spec *spec, int r,
			const struct engine_error *error);

/* A reply with one member. Takes ownership of it. */
void reply_value(struct call *call, const char *key, struct json_object *value);

/* A reply with a session, of which this takes ownership, and with warnings, which the caller keeps. */
void reply_session(struct call *call, struct json_object *session, struct json_object *warnings);
