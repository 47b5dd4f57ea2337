// SPDX-License-Identifier: GPL-2.0-or-later
#include "call.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "connection.h"
#include "json_memory.h"
#include "protocol.h"
#include "spec/arguments.h"

DEFINE_CLEANUP(struct call *, call_free);

int call_new(struct connection *connection, struct control *control, const char *method,
	     struct json_object *parameters, struct call **ret)
{
	_cleanup_(call_freep) struct call *call = calloc(1, sizeof(*call));

	if (!call) {
		json_object_put(parameters);
		return -ENOMEM;
	}
	*call = (struct call){
		.connection = connection,
		.control = control,
		.caller = connection_caller(connection),
		.method = strdup(method),
		.parameters = parameters ?: json_object_new_object(),
	};
	if (!call->method || !call->parameters)
		return -ENOMEM;
	*ret = TAKE(call);
	return 0;
}

void call_free(struct call *call)
{
	if (!call)
		return;
	if (call->free_state)
		call->free_state(call->state);
	json_object_put(call->parameters);
	free(call->method);
	free(call);
}

void call_keep(struct call *call, void *state, void (*free_state)(void *state))
{
	call->state = state;
	call->free_state = free_state;
}

static void send_message(struct call *call, const char *error, bool continues,
			 struct json_object *parameters)
{
	_cleanup_json_ struct json_object *message = json_object_new_object();

	if (error)
		json_object_object_add(message, "error", json_object_new_string(error));
	json_object_object_add(message, "parameters", parameters ?: json_object_new_object());
	if (continues)
		json_object_object_add(message, "continues", json_object_new_boolean(true));
	if (call->oneway)
		return;
	if (json_lacks())
		connection_send_lack(call->connection);
	else
		connection_send(call->connection, message);
}

static void finish(struct call *call, const char *error, struct json_object *parameters)
{
	if (call->done) {
		json_object_put(parameters);
		return;
	}
	send_message(call, error, false, parameters);
	call->done = true;
	connection_wake(call->connection);
}

void call_reply(struct call *call, struct json_object *parameters)
{
	finish(call, NULL, parameters);
}

void call_error(struct call *call, const char *error, struct json_object *parameters)
{
	finish(call, error, parameters);
}

int call_reply_more(struct call *call, struct json_object *parameters)
{
	if (call->done || connection_behind(call->connection)) {
		json_object_put(parameters);
		return -ENOBUFS;
	}
	send_message(call, NULL, true, parameters);
	return 0;
}

void call_invalid(struct call *call, const char *parameter, const char *message)
{
	struct json_object *parameters = json_object_new_object();

	json_object_object_add(parameters, "parameter", json_object_new_string(parameter));
	if (*message)
		json_object_object_add(parameters, "message", json_object_new_string(message));
	call_error(call, VARLINK_INVALID_PARAMETER, parameters);
}

void call_failed(struct call *call, const char *format, ...)
{
	struct json_object *parameters = json_object_new_object();
	char message[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	json_object_object_add(parameters, "message", json_object_new_string(message));
	call_error(call, IOTR_FAILED, parameters);
}

int call_arguments(struct call *call, const struct argument *rows, void *target)
{
	struct engine_error error = { 0 };
	int r = arguments_read(call->parameters, rows, target, &error);

	if (r < 0)
		call_invalid(call, error.parameter, error.message);
	return r;
}
