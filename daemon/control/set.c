// SPDX-License-Identifier: GPL-2.0-or-later
#include "set.h"

#include <errno.h>
#include <string.h>

#include "arguments.h"
#include "cleanup.h"
#include "filter_arguments.h"
#include "log.h"
#include "protocol.h"
#include "reply.h"
#include "schema.h"

/* The spec comes first: parsers of filters take this for one. */
struct set_arguments {
	struct iotr_session_spec spec;
	const char *name;
	uint32_t cleared;
};

static int add_cleared(struct json_object *value, void *target, struct engine_error *error)
{
	struct set_arguments *set = target;
	const char *name = NULL;
	int r = argument_string(value, &name, error), filter;

	if (r < 0)
		return r;
	filter = iotr_spec_filter_find(name);
	if (filter < 0)
		return argument_refuse(error, "there is no filter '%.64s'", name);
	set->cleared |= 1U << filter;
	return 0;
}

static int parse_clear(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_list(value, add_cleared, target, error);
}

static const struct argument set_rows[] = {
	{ .name = "name", .parse = argument_session, .offset = offsetof(struct set_arguments, name),
	  .required = true },
	{ .name = "clear", .parse = parse_clear },
	FILTER_ARGUMENTS,
};

/* Streams of the session of that name, which names of operations are looked up in; 0: no such session. */
static uint32_t streams_of(struct call *call, const char *name)
{
	_cleanup_json_ struct json_object *sessions = NULL;
	struct json_object *streams = NULL;
	uint32_t mask = 0;

	if (engine_status(call->control->engine, name, &sessions) < 0)
		return 0;
	json_object_object_get_ex(json_object_array_get_idx(sessions, 0), "streams", &streams);
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (json_object_object_get_ex(streams, iotr_schemas[stream].flag, NULL))
			mask |= 1U << stream;
	return mask;
}

static uint32_t given(struct json_object *parameters)
{
	struct json_object *value;
	uint32_t mask = 0;

	for (int filter = 0; filter < IOTR_SPEC_FILTER_COUNT; filter++)
		if (json_object_object_get_ex(parameters, iotr_spec_filter_name(filter), &value) && value)
			mask |= 1U << filter;
	return mask;
}

static void reply_failed(struct call *call, const char *name, int r, const struct engine_error *error)
{
	const char *reason = *error->message ? error->message : strerror(-r);

	if (r == -ENOENT)
		reply_no_such_session(call, name);
	else if (*error->parameter)
		call_invalid(call, error->parameter, reason);
	else
		call_failed(call, "the filters cannot be changed: %s", reason);
}

static void change(struct call *call, const struct set_arguments *set)
{
	struct engine_change change = {
		.spec = set->spec,
		.given = given(call->parameters),
		.cleared = set->cleared,
	};
	struct json_object *session = NULL;
	struct engine_error error = { 0 };
	int r;

	if (!change.given && !change.cleared) {
		call_invalid(call, "clear", "no filter is given, and none is to be cleared");
		return;
	}
	r = engine_set(call->control->engine, set->name, &change, &session, &error);
	if (r < 0) {
		reply_failed(call, set->name, r, &error);
		return;
	}
	log_info("filters of session %s changed by uid %u", set->name, call->uid);
	reply_value(call, "session", session);
}

/* The name, when it is one; what else is wrong is told later. */
static const char *name_of(struct call *call)
{
	struct json_object *name = NULL;

	json_object_object_get_ex(call->parameters, "name", &name);
	if (!json_object_is_type(name, json_type_string) || !iotr_session_name_valid(json_object_get_string(name)))
		return NULL;
	return json_object_get_string(name);
}

int set_call(struct call *call)
{
	struct set_arguments set = { 0 };
	struct engine_error error = { 0 };
	const char *name = name_of(call);

	set.spec.streams = name ? streams_of(call, name) : 0;
	if (name && !set.spec.streams)
		reply_no_such_session(call, name);
	else if (arguments_read(call->parameters, set_rows, sizeof(set_rows) / sizeof(set_rows[0]), &set,
				&error) < 0)
		call_invalid(call, error.parameter, error.message);
	else
		change(call, &set);
	iotr_session_spec_done(&set.spec);
	return 0;
}
