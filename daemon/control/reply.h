/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors of the engine as replies of io.iotracer. Main thread only. */
#pragma once

#include "call.h"
#include "engine.h"
#include "session.h"

/* An error with one parameter, a string. */
void reply_error(struct call *call, const char *error, const char *key, const char *value);

void reply_no_such_session(struct call *call, const char *name);

/* A folder that cannot be written to, and why. */
void reply_output(struct call *call, const char *path, const char *reason);

/* A session whose rows are in memory, where they should be in files. */
void reply_in_memory(struct call *call, const char *name);

/* Why a session could not be started. */
void reply_start_failed(struct call *call, const struct iotr_session_spec *spec, int r,
			const struct engine_error *error);

/* A reply with one member, of which this takes ownership. */
void reply_value(struct call *call, const char *key, struct json_object *value);
