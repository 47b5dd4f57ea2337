// SPDX-License-Identifier: GPL-2.0-or-later
#include "start.h"

#include <errno.h>
#include <stdlib.h>

#include "cleanup.h"
#include "context.h"
#include "engine.h"
#include "log.h"
#include "reply.h"
#include "start_arguments.h"

/* A session that is asked for; it lives until both the call and the start are over. */
struct start {
	struct call *call; /* NULL: it is over */
	struct engine *engine;
	struct iotr_session_spec spec;
	bool pending; /* the engine has not told yet */
};

static void start_free(struct start *start)
{
	iotr_session_spec_done(&start->spec);
	free(start);
}

static void on_started(int result, struct json_object *session, const struct engine_error *error,
		       void *userdata)
{
	struct start *start = userdata;

	start->pending = false;
	if (!start->call) {
		json_object_put(session);
		start_free(start);
		return;
	}
	if (result < 0) {
		reply_start_failed(start->call, &start->spec, result, error);
		return;
	}
	log_info("session %s started by uid %u", start->spec.name, start->call->uid);
	reply_value(start->call, "session", session);
}

static void on_stopped(int result, struct json_object *status, void *userdata)
{
	(void)result, (void)userdata;
	json_object_put(status);
}

/* A session that nobody would be told of does not begin; who wants no answer does not wait for one. */
static void start_forget(void *state)
{
	struct start *start = state;
	bool wanted = start->call->oneway;

	start->call = NULL;
	if (!start->pending)
		start_free(start);
	else if (!wanted)
		engine_stop(start->engine, start->spec.name, on_stopped, NULL);
}

static void begin(struct start *start)
{
	struct call *call = start->call;
	struct engine_error error = { 0 };
	int r;

	if (start_arguments_read(call->parameters, &start->spec, &error) < 0) {
		call_invalid(call, error.parameter, error.message);
		return;
	}
	start->pending = true;
	r = engine_start(start->engine, &start->spec, call->uid, on_started, start, &error);
	if (r >= 0)
		return;
	start->pending = false;
	reply_start_failed(call, &start->spec, r, &error);
}

int start_call(struct call *call)
{
	struct start *start = calloc(1, sizeof(*start));

	if (!start)
		return -ENOMEM;
	start->call = call;
	start->engine = call->control->engine;
	call_keep(call, start, start_forget);
	begin(start);
	return 0;
}
