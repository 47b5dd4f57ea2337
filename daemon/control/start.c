// SPDX-License-Identifier: GPL-2.0-or-later
#include "start.h"

#include <errno.h>
#include <stdlib.h>

#include "cleanup.h"
#include "context.h"
#include "engine.h"
#include "log.h"
#include "reply.h"
#include "spec/filter_fit.h"
#include "spec/start_arguments.h"

/* A start that is in progress; freed when both the call and the start have ended. */
struct start {
	struct call *call; /* NULL: it has ended */
	struct engine *engine;
	struct iotr_session_spec spec;
	struct json_object *warnings; /* an array of sentences */
	bool awaited; /* the engine has not called on_started() yet */
};

static void start_free(struct start *start)
{
	iotr_session_spec_done(&start->spec);
	json_object_put(start->warnings);
	free(start);
}

static void on_started(int result, struct json_object *session, const struct engine_error *error,
		       void *userdata)
{
	struct start *start = userdata;

	start->awaited = false;
	if (!start->call) {
		json_object_put(session);
		start_free(start);
		return;
	}
	if (result < 0) {
		reply_start_failed(start->call, &start->spec, result, error);
		return;
	}
	log_message(ABOUT(SESSION_STARTED, .session = start->spec.name, .user = &start->call->caller->uid),
		    "session %s started by uid %u", start->spec.name, start->call->caller->uid);
	reply_session(start->call, session, start->warnings);
}

static void on_stopped(int result, struct json_object *status, void *userdata)
{
	(void)result, (void)userdata;
	json_object_put(status);
}

/*
 * If the client disconnects before the session runs, the session is stopped, as nobody would learn of it. The
 * client of a oneway call does not wait for a reply, so its session starts nevertheless.
 */
static void start_forget(void *state)
{
	struct start *start = state;
	bool wanted = start->call->oneway;

	start->call = NULL;
	if (!start->awaited)
		start_free(start);
	else if (!wanted)
		engine_stop(start->engine, start->spec.name, on_stopped, NULL);
}

static void begin(struct start *start)
{
	struct call *call = start->call;
	struct engine_error error = { 0 };
	int r;

	if (start_arguments_read(call->parameters, &start->spec, &error) < 0 ||
	    filter_fit_now(&start->spec, start->warnings, &error) < 0) {
		call_invalid(call, error.parameter, error.message);
		return;
	}
	start->awaited = true;
	r = engine_start(start->engine, &start->spec, call->caller, on_started, start, &error);
	if (r >= 0)
		return;
	start->awaited = false;
	reply_start_failed(call, &start->spec, r, &error);
}

int start_call(struct call *call)
{
	struct start *start = calloc(1, sizeof(*start));

	if (!start)
		return -ENOMEM;
	start->call = call;
	start->warnings = json_object_new_array();
	start->engine = call->control->engine;
	call_keep(call, start, start_forget);
	begin(start);
	return 0;
}
