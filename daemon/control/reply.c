// SPDX-License-Identifier: GPL-2.0-or-later
#include "reply.h"

#include <errno.h>
#include <string.h>

#include "protocol.h"

static struct json_object *one_string(const char *key, const char *value)
{
	struct json_object *parameters = json_object_new_object();

	json_object_object_add(parameters, key, json_object_new_string(value));
	return parameters;
}

void reply_error(struct call *call, const char *error, const char *key, const char *value)
{
	call_error(call, error, one_string(key, value));
}

void reply_no_such_session(struct call *call, const char *name)
{
	reply_error(call, IOTR_NO_SUCH_SESSION, "name", name);
}

static void reply_too_many(struct call *call)
{
	struct json_object *parameters = json_object_new_object();

	json_object_object_add(parameters, "limit", json_object_new_int(IOTR_SESSIONS_MAX));
	call_error(call, IOTR_TOO_MANY_SESSIONS, parameters);
}

void reply_output(struct call *call, const char *path, const char *reason)
{
	struct json_object *parameters = one_string("path", path);

	json_object_object_add(parameters, "reason", json_object_new_string(reason));
	call_error(call, IOTR_OUTPUT_UNUSABLE, parameters);
}

void reply_in_memory(struct call *call, const char *name)
{
	call_failed(call, "session %s is a flight recorder: its rows are in memory, and Dump writes them",
		    name);
}

void reply_start_failed(struct call *call, const struct iotr_session_spec *spec, int r,
			const struct engine_error *error)
{
	const char *reason = *error->message ? error->message : strerror(-r);

	if (!strcmp(error->parameter, "output"))
		reply_output(call, spec->output, reason);
	else if (r == -EEXIST)
		reply_error(call, IOTR_SESSION_EXISTS, "name", spec->name);
	else if (r == -ENOSPC)
		reply_too_many(call);
	else if (r == -EOPNOTSUPP)
		reply_error(call, IOTR_NO_HOOK, "reason", reason);
	else if (*error->parameter)
		call_invalid(call, error->parameter, reason);
	else
		call_failed(call, "the session cannot be started: %s", reason);
}

void reply_value(struct call *call, const char *key, struct json_object *value)
{
	struct json_object *parameters = json_object_new_object();

	json_object_object_add(parameters, key, value);
	call_reply(call, parameters);
}

void reply_session(struct call *call, struct json_object *session, struct json_object *warnings)
{
	struct json_object *parameters = json_object_new_object();

	json_object_object_add(parameters, "session", session);
	json_object_object_add(parameters, "warnings", json_object_get(warnings));
	call_reply(call, parameters);
}
