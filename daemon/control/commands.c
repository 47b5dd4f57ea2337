// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "arguments.h"
#include "cleanup.h"
#include "log.h"
#include "protocol.h"
#include "reply.h"
#include "snapshot_call.h"
#include "start_arguments.h"
#include "tail.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const char *name_of(struct json_object *session)
{
	struct json_object *name = NULL;

	json_object_object_get_ex(session, "name", &name);
	return json_object_get_string(name) ?: "";
}

static int start(struct call *call)
{
	_cleanup_(iotr_session_spec_done) struct iotr_session_spec spec = { 0 };
	struct engine_error error = { 0 };
	struct json_object *session = NULL;
	int r;

	if (start_arguments_read(call->parameters, &spec, &error) < 0) {
		call_invalid(call, error.parameter, error.message);
		return 0;
	}
	r = engine_start(call->control->engine, &spec, call->uid, &session, &error);
	if (r < 0) {
		reply_start_failed(call, &spec, r, &error);
		return 0;
	}
	log_info("session %s started by uid %u", spec.name, call->uid);
	reply_value(call, "session", session);
	return 0;
}

struct choice {
	const char *name; /* NULL: none given */
	bool all;
};

static int parse_name(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_session(value, &((struct choice *)target)->name, error);
}

static int parse_all(struct json_object *value, void *target, struct engine_error *error)
{
	return argument_flag(value, &((struct choice *)target)->all, error);
}

static const struct argument stop_arguments[] = { { .name = "name", .parse = parse_name },
						  { .name = "all", .parse = parse_all } };
static const struct argument name_argument[] = { { .name = "name", .parse = parse_name } };

static int stop_one(struct call *call, const char *name, struct json_object *stopped)
{
	struct json_object *session = NULL;
	int r = engine_stop(call->control->engine, name, &session);

	if (r < 0)
		return r;
	log_info("session %s stopped by uid %u", name, call->uid);
	return json_object_array_add(stopped, session);
}

/* The first failure is what is told, after all the others were stopped too. */
static int stop_all(struct call *call, struct json_object *stopped)
{
	_cleanup_json_ struct json_object *sessions = NULL;
	int r = engine_status(call->control->engine, NULL, &sessions);

	for (size_t i = 0; sessions && i < json_object_array_length(sessions); i++) {
		int q = stop_one(call, name_of(json_object_array_get_idx(sessions, i)), stopped);

		if (q < 0 && q != -ENOENT && r >= 0)
			r = q;
	}
	return r;
}

static int stop(struct call *call)
{
	_cleanup_json_ struct json_object *stopped = json_object_new_array();
	struct choice choice = { 0 };
	int r;

	if (arguments_read_call(call, stop_arguments, LENGTH(stop_arguments), &choice) < 0)
		return 0;
	if (!choice.name == !choice.all) {
		call_invalid(call, "name", "give a session's name, or all");
		return 0;
	}
	r = choice.all ? stop_all(call, stopped) : stop_one(call, choice.name, stopped);
	if (r == -ENOENT)
		reply_no_such_session(call, choice.name);
	else if (r >= 0)
		reply_value(call, "sessions", TAKE(stopped));
	return r == -ENOENT ? 0 : r;
}

/* Sessions by the name given, or all; the reply is sent when there is none of that name. */
static int find_sessions(struct call *call, const char *name, struct json_object **ret)
{
	int r = engine_status(call->control->engine, name, ret);

	if (r == -ENOENT && name)
		reply_no_such_session(call, name);
	return r;
}

static int list(struct call *call)
{
	struct json_object *sessions = NULL;
	int r;

	if (arguments_read_call(call, NULL, 0, NULL) < 0)
		return 0;
	r = find_sessions(call, NULL, &sessions);
	if (r >= 0)
		reply_value(call, "sessions", sessions);
	return r;
}

static int64_t uptime_seconds(const struct control *control)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - (int64_t)(control->started_usec / 1000000);
}

static int status(struct call *call)
{
	struct json_object *sessions = NULL, *parameters;
	struct choice choice = { 0 };
	int r;

	if (arguments_read_call(call, name_argument, LENGTH(name_argument), &choice) < 0)
		return 0;
	r = find_sessions(call, choice.name, &sessions);
	if (r < 0)
		return r;
	parameters = json_object_new_object();
	json_object_object_add(parameters, "version", json_object_new_string(IOTRACER_VERSION));
	json_object_object_add(parameters, "uptime",
			       json_object_new_int64(uptime_seconds(call->control)));
	json_object_object_add(parameters, "pid", json_object_new_int64(getpid()));
	json_object_object_add(parameters, "sessions", sessions);
	call_reply(call, parameters);
	return 0;
}

static int rotate_one(struct call *call, const char *name, struct json_object *closed)
{
	_cleanup_json_ struct json_object *paths = NULL;
	int r = engine_rotate(call->control->engine, name, &paths);

	for (size_t i = 0; paths && i < json_object_array_length(paths); i++)
		json_object_array_add(closed, json_object_get(json_object_array_get_idx(paths, i)));
	return r;
}

static int rotate(struct call *call)
{
	_cleanup_json_ struct json_object *closed = json_object_new_array(), *sessions = NULL;
	struct choice choice = { 0 };
	int r;

	if (arguments_read_call(call, name_argument, LENGTH(name_argument), &choice) < 0)
		return 0;
	r = find_sessions(call, choice.name, &sessions);
	for (size_t i = 0; r >= 0 && i < json_object_array_length(sessions); i++) {
		int q = rotate_one(call, name_of(json_object_array_get_idx(sessions, i)), closed);

		if (q < 0 && (q != -ENOENT || choice.name))
			r = q;
	}
	if (r >= 0)
		reply_value(call, "closed", TAKE(closed));
	else if (r == -ENOENT && !call->done)
		reply_no_such_session(call, choice.name);
	return r;
}

/* Methods that hand through one array of the engine. */
static int hand_through(struct call *call, const char *key,
			int (*get)(struct engine *engine, struct json_object **ret))
{
	struct json_object *value = NULL;
	int r;

	if (arguments_read_call(call, NULL, 0, NULL) < 0)
		return 0;
	r = get(call->control->engine, &value);
	if (r >= 0)
		reply_value(call, key, value);
	return r;
}

static int streams(struct call *call)
{
	return hand_through(call, "streams", engine_streams);
}

static int doctor(struct call *call)
{
	return hand_through(call, "checks", engine_doctor);
}

static int reload(struct call *call)
{
	struct control *control = call->control;
	int r;

	if (arguments_read_call(call, NULL, 0, NULL) < 0)
		return 0;
	r = control->reload ? control->reload(control->userdata) : 0;
	if (r >= 0)
		call_reply(call, NULL);
	return r;
}

static const struct method methods[] = {
	{ "Start", start },   { "Stop", stop },	     { "List", list },
	{ "Status", status }, { "Rotate", rotate },  { "Streams", streams },
	{ "Doctor", doctor }, { "Tail", tail_call }, { "Reload", reload },
	{ "Snapshot", snapshot_call },
};

const struct interface command_interface = {
	IOTR_INTERFACE,
	io_iotracer_varlink,
	methods,
	LENGTH(methods),
};
