// SPDX-License-Identifier: GPL-2.0-or-later
#include "set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "log.h"
#include "protocol.h"
#include "reply.h"
#include "schema.h"
#include "spec/arguments.h"
#include "spec/filter_arguments.h"
#include "spec/filter_fit.h"

/* The spec must be the first member: the parsers of filters use this struct as a spec. */
struct set_arguments {
	struct iotr_session_spec spec;
	const char *name;
	uint32_t cleared;
};

/* A change that is in progress; freed when both the call and the change have ended. */
struct set {
	struct call *call; /* NULL: it has ended */
	struct engine_setting *source;
	struct json_object *warnings; /* an array of sentences */
	bool awaited; /* the engine has not called on_set() yet */
	uid_t uid;
	char name[IOTR_SESSION_NAME_MAX + 1];
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
	FILTER_ARGUMENTS
	{ .name = NULL },
};

/* The streams of the named session, in which operations are looked up; 0: there is no such session. */
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

static void set_free(struct set *state)
{
	json_object_put(state->warnings);
	free(state);
}

/*
 * If the client disconnects while the change waits for a disk, the change is cancelled. A oneway call is not
 * cancelled: its client does not wait for a reply.
 */
static void set_forget(void *userdata)
{
	struct set *state = userdata;
	bool wanted = state->call->oneway;

	state->call = NULL;
	if (state->awaited && wanted)
		return;
	if (state->awaited && state->source)
		engine_set_cancel(state->source);
	set_free(state);
}

static void on_set(int result, struct json_object *session, const struct engine_error *error, void *userdata)
{
	struct set *state = userdata;

	state->awaited = false;
	if (result >= 0)
		log_message(ABOUT(SESSION_CHANGED, .session = state->name, .user = &state->uid),
			    "filters of session %s changed by uid %u", state->name, state->uid);
	if (!state->call) {
		json_object_put(session);
		set_free(state);
	} else if (result < 0) {
		reply_failed(state->call, state->name, result, error);
	} else {
		reply_session(state->call, session, state->warnings);
	}
}

static struct set *set_new(struct call *call, const char *name)
{
	struct set *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->call = call;
	state->uid = call->caller->uid;
	state->awaited = true;
	snprintf(state->name, sizeof(state->name), "%s", name);
	call_keep(call, state, set_forget);
	return state;
}

static void change(struct call *call, const struct set_arguments *set)
{
	_cleanup_json_ struct json_object *warnings = json_object_new_array();
	struct engine_change change = {
		.spec = set->spec,
		.given = given(call->parameters),
		.cleared = set->cleared,
	};
	struct engine_error error = { 0 };
	struct set *state;
	int r;

	if (!change.given && !change.cleared) {
		call_invalid(call, "clear", "no filter is given, and none is to be cleared");
		return;
	}
	/*
	 * Each filter is judged independently, and the streams do not change, so checking the new filters
	 * alone is sufficient.
	 */
	if (filter_fit(&set->spec, &error) < 0 || filter_fit_now(&set->spec, warnings, &error) < 0) {
		call_invalid(call, error.parameter, error.message);
		return;
	}
	state = set_new(call, set->name);
	if (!state) {
		call_failed(call, "the filters cannot be changed: out of memory");
		return;
	}
	state->warnings = json_object_get(warnings);
	r = engine_set(call->control->engine, set->name, &change, on_set, state, &state->source, &error);
	if (r >= 0)
		return;
	state->awaited = false;
	reply_failed(call, set->name, r, &error);
}

/* Returns the session's name if it is valid; other errors are reported later. */
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
	const char *name = name_of(call);

	set.spec.streams = name ? streams_of(call, name) : 0;
	if (name && !set.spec.streams)
		reply_no_such_session(call, name);
	else if (call_arguments(call, set_rows, &set) >= 0)
		change(call, &set);
	iotr_session_spec_done(&set.spec);
	return 0;
}
