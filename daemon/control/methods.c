// SPDX-License-Identifier: GPL-2.0-or-later
#include "methods.h"

#include <errno.h>
#include <unistd.h>

#include "amplification.h"
#include "cleanup.h"
#include "clock.h"
#include "context.h"
#include "dump.h"
#include "protocol.h"
#include "reply.h"
#include "rotate.h"
#include "sessions.h"
#include "set.h"
#include "snapshot_call.h"
#include "spec/arguments.h"
#include "start.h"
#include "stop.h"
#include "tail.h"
#include "top.h"

static const struct argument no_arguments[] = { { .name = NULL } };

static const struct argument status_arguments[] = {
	{ .name = "name", .parse = argument_session },
	{ .name = NULL },
};

static int list(struct call *call)
{
	struct json_object *sessions = NULL;
	int r;

	if (call_arguments(call, no_arguments, NULL) < 0)
		return 0;
	r = sessions_find(call, NULL, &sessions);
	if (r >= 0)
		reply_value(call, "sessions", sessions);
	return r;
}

static int64_t uptime_seconds(const struct control *control)
{
	return (int64_t)(clock_ns(CLOCK_MONOTONIC) / 1000000000 - control->started_usec / 1000000);
}

static int status(struct call *call)
{
	struct json_object *sessions = NULL, *cost = NULL, *parameters;
	const char *name = NULL;
	int r;

	if (call_arguments(call, status_arguments, &name) < 0)
		return 0;
	r = sessions_find(call, name, &sessions);
	if (r < 0)
		return r;
	r = engine_cost(call->control->engine, &cost);
	if (r < 0) {
		json_object_put(sessions);
		return r;
	}
	parameters = json_object_new_object();
	json_object_object_add(parameters, "version", json_object_new_string(IOTRACER_VERSION));
	json_object_object_add(parameters, "uptime",
			       json_object_new_int64(uptime_seconds(call->control)));
	json_object_object_add(parameters, "pid", json_object_new_int64(getpid()));
	json_object_object_add(parameters, "cost", cost);
	json_object_object_add(parameters, "own", engine_own_describe(call->control->engine));
	json_object_object_add(parameters, "sessions", sessions);
	call_reply(call, parameters);
	return 0;
}

static int reply_streams(struct call *call)
{
	struct json_object *streams = NULL;
	int r = engine_streams(call->control->engine, &streams);

	if (r >= 0)
		reply_value(call, "streams", streams);
	return r;
}

static void on_programs(void *userdata)
{
	if (reply_streams(userdata) < 0)
		call_failed(userdata, "out of memory");
}

static void wait_free(void *state)
{
	engine_wait_free(state);
}

static int streams(struct call *call)
{
	struct engine_wait *waiting = NULL;
	int r;

	if (call_arguments(call, no_arguments, NULL) < 0)
		return 0;
	r = engine_wait_new(call->control->engine, on_programs, call, &waiting);
	if (r < 0)
		return r;
	if (!waiting)
		return reply_streams(call);
	call_keep(call, waiting, wait_free);
	return 0;
}

static void on_checks(struct json_object *checks, void *userdata)
{
	reply_value(userdata, "checks", checks);
}

static void doctor_free(void *state)
{
	engine_doctor_free(state);
}

static int doctor(struct call *call)
{
	struct engine_doctor *waiting = NULL;
	int r;

	if (call_arguments(call, no_arguments, NULL) < 0)
		return 0;
	r = engine_doctor_new(call->control->engine, on_checks, call, &waiting);
	if (r >= 0)
		call_keep(call, waiting, doctor_free);
	return r;
}

static void reply_bad_configuration(struct call *call, struct json_object *errors, bool applied)
{
	struct json_object *parameters = json_object_new_object();

	json_object_object_add(parameters, "errors", json_object_get(errors));
	json_object_object_add(parameters, "applied", json_object_new_boolean(applied));
	call_error(call, IOTR_BAD_CONFIGURATION, parameters);
}

static int reload(struct call *call)
{
	_cleanup_json_ struct json_object *errors = json_object_new_array();
	_cleanup_json_ struct json_object *warnings = json_object_new_array();
	struct control *control = call->control;
	int r;

	if (call_arguments(call, no_arguments, NULL) < 0)
		return 0;
	r = control->reload ? control->reload(control->userdata, errors, warnings) : 0;
	if (json_object_array_length(errors))
		reply_bad_configuration(call, errors, r >= 0);
	else if (r >= 0)
		reply_value(call, "warnings", TAKE(warnings));
	return r;
}

/* Doctor, Top and Amplification attach hooks, which costs the whole machine: that is more than to look. */
static const struct method methods[] = {
	{ "Start", ROLE_CONTROL, start_call },
	{ "Stop", ROLE_CONTROL, stop_call },
	{ "List", ROLE_READ, list },
	{ "Status", ROLE_READ, status },
	{ "Rotate", ROLE_CONTROL, rotate_call },
	{ "Streams", ROLE_READ, streams },
	{ "Doctor", ROLE_CONTROL, doctor },
	{ "Tail", ROLE_READ, tail_call },
	{ "Reload", ROLE_CONTROL, reload },
	{ "Dump", ROLE_CONTROL, dump_call },
	{ "Top", ROLE_CONTROL, top_call },
	{ "Amplification", ROLE_CONTROL, amplification_call },
	{ "Set", ROLE_CONTROL, set_call },
	{ "Snapshot", ROLE_CONTROL, snapshot_call },
};

const struct interface iotracer_interface = {
	IOTR_INTERFACE,
	io_iotracer_varlink,
	methods,
	sizeof(methods) / sizeof(methods[0]),
};
