// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "dump.h"
#include "log.h"
#include "protocol.h"
#include "reply.h"
#include "set.h"
#include "snapshot_call.h"
#include "spec/arguments.h"
#include "start.h"
#include "tail.h"
#include "top.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const char *name_of(struct json_object *session)
{
	struct json_object *name = NULL;

	json_object_object_get_ex(session, "name", &name);
	return json_object_get_string(name) ?: "";
}

struct choice {
	const char *name; /* NULL: not given */
	bool all;
};

#define NAME_ARGUMENT                                                                              \
	{ .name = "name", .parse = argument_session, .offset = offsetof(struct choice, name) }

static const struct argument name_argument[] = { NAME_ARGUMENT };
static const struct argument stop_arguments[] = {
	NAME_ARGUMENT,
	{ .name = "all", .parse = argument_flag, .offset = offsetof(struct choice, all) },
};

/* Collects the results of several asynchronous requests to the engine for one reply. */
struct gathering {
	struct call *call; /* NULL: the client has disconnected */
	const char *key;   /* member of the reply that holds the results */
	struct json_object *results;
	size_t pending; /* open requests, plus one while requests are being made */
	int error;	/* the first error */
};

static void gathering_free(struct gathering *gathering)
{
	json_object_put(gathering->results);
	free(gathering);
}

/* The call has ended: results of requests that are still open are dropped. */
static void gathering_forget(void *state)
{
	struct gathering *gathering = state;

	gathering->call = NULL;
	if (!gathering->pending)
		gathering_free(gathering);
}

static struct gathering *gathering_new(struct call *call, const char *key)
{
	struct gathering *gathering = calloc(1, sizeof(*gathering));

	if (!gathering)
		return NULL;
	*gathering = (struct gathering){
		.call = call, .key = key, .results = json_object_new_array(), .pending = 1
	};
	call_keep(call, gathering, gathering_forget);
	return gathering;
}

static void gathering_end(struct gathering *gathering, int result)
{
	if (result < 0 && !gathering->error)
		gathering->error = result;
	if (--gathering->pending)
		return;
	if (!gathering->call)
		gathering_free(gathering);
	else if (gathering->error)
		call_failed(gathering->call, "%s failed: %s",
			    strrchr(gathering->call->method, '.') + 1, strerror(-gathering->error));
	else
		reply_value(gathering->call, gathering->key, TAKE(gathering->results));
}

static void on_stopped(int result, struct json_object *session, void *userdata)
{
	struct gathering *gathering = userdata;

	if (session)
		json_object_array_add(gathering->results, session);
	gathering_end(gathering, result);
}

static int stop_one(struct call *call, const char *name, struct gathering *gathering)
{
	int r;

	gathering->pending++;
	r = engine_stop(call->control->engine, name, on_stopped, gathering);
	if (r < 0)
		gathering->pending--;
	else
		log_info("session %s stopped by uid %u", name, call->caller->uid);
	return r;
}

/* Stops all sessions even if one fails; the first failure is reported. */
static int stop_all(struct call *call, struct gathering *gathering)
{
	_cleanup_json_ struct json_object *sessions = NULL;
	int r = engine_status(call->control->engine, NULL, &sessions);

	for (size_t i = 0; sessions && i < json_object_array_length(sessions); i++) {
		int q = stop_one(call, name_of(json_object_array_get_idx(sessions, i)), gathering);

		if (q < 0 && q != -ENOENT && r >= 0)
			r = q;
	}
	return r;
}

static int stop(struct call *call)
{
	struct gathering *gathering;
	struct choice choice = { 0 };
	int r;

	if (call_arguments(call, stop_arguments, LENGTH(stop_arguments), &choice) < 0)
		return 0;
	if (!choice.name == !choice.all) {
		call_invalid(call, "name", "give a session's name, or all");
		return 0;
	}
	gathering = gathering_new(call, "sessions");
	if (!gathering)
		return -ENOMEM;
	r = choice.all ? stop_all(call, gathering) : stop_one(call, choice.name, gathering);
	if (r == -ENOENT)
		reply_no_such_session(call, choice.name);
	gathering_end(gathering, r == -ENOENT ? 0 : r);
	return 0;
}

/* Finds the named session, or all. If there is none of that name, the error is replied. */
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

	if (call_arguments(call, NULL, 0, NULL) < 0)
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
	struct json_object *sessions = NULL, *cost = NULL, *parameters;
	struct choice choice = { 0 };
	int r;

	if (call_arguments(call, name_argument, LENGTH(name_argument), &choice) < 0)
		return 0;
	r = find_sessions(call, choice.name, &sessions);
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
	json_object_object_add(parameters, "sessions", sessions);
	call_reply(call, parameters);
	return 0;
}

static void on_rotated(int result, struct json_object *paths, void *userdata)
{
	struct gathering *gathering = userdata;

	for (size_t i = 0; paths && i < json_object_array_length(paths); i++)
		json_object_array_add(gathering->results,
				      json_object_get(json_object_array_get_idx(paths, i)));
	json_object_put(paths);
	gathering_end(gathering, result);
}

static int rotate_one(struct call *call, const char *name, struct gathering *gathering)
{
	int r;

	gathering->pending++;
	r = engine_rotate(call->control->engine, name, on_rotated, gathering);
	if (r < 0)
		gathering->pending--;
	return r;
}

static int rotate(struct call *call)
{
	_cleanup_json_ struct json_object *sessions = NULL;
	struct gathering *gathering;
	struct choice choice = { 0 };
	int r;

	if (call_arguments(call, name_argument, LENGTH(name_argument), &choice) < 0)
		return 0;
	r = find_sessions(call, choice.name, &sessions);
	if (r < 0)
		return r;
	gathering = gathering_new(call, "closed");
	if (!gathering)
		return -ENOMEM;
	for (size_t i = 0; i < json_object_array_length(sessions); i++) {
		int q = rotate_one(call, name_of(json_object_array_get_idx(sessions, i)), gathering);

		if (q < 0 && ((q != -ENOENT && q != -EOPNOTSUPP) || choice.name))
			r = q;
	}
	if (r == -ENOENT)
		reply_no_such_session(call, choice.name);
	else if (r == -EOPNOTSUPP)
		reply_in_memory(call, choice.name);
	gathering_end(gathering, r == -ENOENT || r == -EOPNOTSUPP ? 0 : r);
	return 0;
}

/* Handles a method whose reply is one array from the engine. */
static int hand_through(struct call *call, const char *key,
			int (*get)(struct engine *engine, struct json_object **ret))
{
	struct json_object *value = NULL;
	int r;

	if (call_arguments(call, NULL, 0, NULL) < 0)
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

	if (call_arguments(call, NULL, 0, NULL) < 0)
		return 0;
	r = engine_doctor_new(call->control->engine, on_checks, call, &waiting);
	if (r >= 0)
		call_keep(call, waiting, doctor_free);
	return r;
}

static void reply_bad_configuration(struct call *call, struct json_object *errors)
{
	struct json_object *parameters = json_object_new_object();

	json_object_object_add(parameters, "errors", json_object_get(errors));
	call_error(call, IOTR_BAD_CONFIGURATION, parameters);
}

static int reload(struct call *call)
{
	_cleanup_json_ struct json_object *errors = json_object_new_array();
	_cleanup_json_ struct json_object *warnings = json_object_new_array();
	struct control *control = call->control;
	int r;

	if (call_arguments(call, NULL, 0, NULL) < 0)
		return 0;
	r = control->reload ? control->reload(control->userdata, errors, warnings) : 0;
	if (json_object_array_length(errors))
		reply_bad_configuration(call, errors);
	else if (r >= 0)
		reply_value(call, "warnings", TAKE(warnings));
	return r;
}

static const struct method methods[] = {
	{ "Start", start_call },   { "Stop", stop },	     { "List", list },
	{ "Status", status }, { "Rotate", rotate },  { "Streams", streams },
	{ "Doctor", doctor }, { "Tail", tail_call }, { "Reload", reload },
	{ "Dump", dump_call },   { "Top", top_call },
	{ "Set", set_call },
	{ "Snapshot", snapshot_call },
};

const struct interface command_interface = {
	IOTR_INTERFACE,
	io_iotracer_varlink,
	methods,
	LENGTH(methods),
};
