// SPDX-License-Identifier: GPL-2.0-or-later
#include "stop.h"

#include <errno.h>

#include "cleanup.h"
#include "context.h"
#include "gathering.h"
#include "log.h"
#include "reply.h"
#include "sessions.h"
#include "spec/arguments.h"

struct stop_choice {
	const char *name; /* NULL: not given */
	bool all;
};

static const struct argument stop_arguments[] = {
	{ .name = "name", .parse = argument_session, .offset = offsetof(struct stop_choice, name) },
	{ .name = "all", .parse = argument_flag, .offset = offsetof(struct stop_choice, all) },
	{ .name = NULL },
};

static void on_stopped(int result, struct json_object *session, void *userdata)
{
	struct gathered *gathered = userdata;

	if (session)
		gathered_add(gathered, session);
	gathered_end(gathered, result);
}

/* -ENOENT, -ENOMEM; any other error is a result. */
static int stop_one(struct call *call, const char *name, struct gathering *gathering)
{
	struct gathered *gathered = gathering_begin(gathering, name);
	int r;

	if (!gathered)
		return -ENOMEM;
	r = engine_stop(call->control->engine, name, on_stopped, gathered);
	if (r < 0)
		gathered_end(gathered, r == -ENOENT ? 0 : r);
	else
		log_message(ABOUT(SESSION_STOPPED, .session = name, .user = &call->caller->uid),
			    "session %s stopped by uid %u", name, call->caller->uid);
	return r == -ENOENT || r == -ENOMEM ? r : 0;
}

/* Stops all sessions even if one fails. */
static int stop_all(struct call *call, struct gathering *gathering)
{
	_cleanup_json_ struct json_object *sessions = NULL;
	int r = sessions_find(call, NULL, &sessions);

	for (size_t i = 0; sessions && i < json_object_array_length(sessions); i++) {
		int q = stop_one(call, sessions_name(sessions, i), gathering);

		if (q == -ENOMEM)
			r = q;
	}
	return r;
}

int stop_call(struct call *call)
{
	struct stop_choice choice = { 0 };
	struct gathering *gathering;
	int r;

	if (call_arguments(call, stop_arguments, &choice) < 0)
		return 0;
	if (!choice.name == !choice.all) {
		call_invalid(call, "name", "give a session's name, or all");
		return 0;
	}
	gathering = gathering_new(call, "sessions", choice.all);
	if (!gathering)
		return -ENOMEM;
	r = choice.all ? stop_all(call, gathering) : stop_one(call, choice.name, gathering);
	if (r == -ENOENT)
		reply_no_such_session(call, choice.name);
	gathering_end(gathering, r == -ENOENT ? 0 : r);
	return 0;
}
