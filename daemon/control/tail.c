// SPDX-License-Identifier: GPL-2.0-or-later
#include "tail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "engine.h"
#include "protocol.h"
#include "reply.h"
#include "spec/stream_arguments.h"

struct tail {
	struct call *call;
	struct engine_tail *source;
	uint64_t skipped; /* rows not reported to the client yet */
};

struct tail_choice {
	const char *name;
	uint32_t streams;
};

static void tail_free(void *state)
{
	struct tail *tail = state;

	if (tail->source)
		engine_tail_free(tail->source);
	free(tail);
}

static struct json_object *row_reply(struct json_object *row, uint64_t skipped)
{
	struct json_object *parameters = json_object_new_object();

	if (row)
		json_object_object_add(parameters, "row", row);
	json_object_object_add(parameters, "skipped", json_object_new_uint64(skipped));
	return parameters;
}

static void on_row(struct json_object *row, uint64_t skipped, void *userdata)
{
	struct tail *tail = userdata;

	tail->skipped += skipped;
	if (!row) {
		call_reply(tail->call, row_reply(NULL, tail->skipped));
		return;
	}
	if (call_reply_more(tail->call, row_reply(row, tail->skipped)) < 0)
		tail->skipped++;
	else
		tail->skipped = 0;
}

static const struct argument tail_arguments[] = {
	{ .name = "name", .parse = argument_session, .offset = offsetof(struct tail_choice, name) },
	{ .name = "streams", .parse = argument_streams, .offset = offsetof(struct tail_choice, streams) },
	{ .name = NULL },
};

static bool is_running(struct json_object *session)
{
	struct json_object *state = NULL;

	json_object_object_get_ex(session, "state", &state);
	return !state || strcmp(json_object_get_string(state), "running") == 0;
}

static void refuse_several(struct call *call, const char *names)
{
	char message[512];

	snprintf(message, sizeof(message), "several sessions run: name one of %s", names);
	call_invalid(call, "name", message);
}

/* Finds the session to use if exactly one is running; otherwise the error is replied. */
static int find_only(struct call *call, struct json_object *sessions, const char **name)
{
	struct json_object *value = NULL;
	char names[384] = "";
	size_t running = 0, at = 0;

	for (size_t i = 0; i < json_object_array_length(sessions); i++) {
		struct json_object *session = json_object_array_get_idx(sessions, i);

		if (!is_running(session) || !json_object_object_get_ex(session, "name", &value))
			continue;
		*name = json_object_get_string(value);
		if (at < sizeof(names))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", running ? ", " : "",
					       *name);
		running++;
	}
	if (running > 1)
		refuse_several(call, names);
	else if (!running)
		reply_no_such_session(call, "");
	return running == 1 ? 0 : -ENOENT;
}

static int open_source(struct call *call, const struct tail_choice *choice, struct tail *tail)
{
	_cleanup_json_ struct json_object *sessions = NULL;
	struct engine *engine = call->control->engine;
	const char *name = choice->name;
	int r;

	if (!name) {
		r = engine_status(engine, NULL, &sessions);
		if (r >= 0)
			r = find_only(call, sessions, &name);
		if (r < 0)
			return r;
	}
	r = engine_tail_new(engine, name, choice->streams, on_row, tail, &tail->source);
	if (r == -ENOENT)
		reply_no_such_session(call, name);
	else if (r == -EOPNOTSUPP)
		reply_in_memory(call, name);
	return r;
}

int tail_call(struct call *call)
{
	struct tail_choice choice = { 0 };
	struct tail *tail;
	int r;

	if (call_arguments(call, tail_arguments, &choice) < 0)
		return 0;
	if (!call->more) {
		call_error(call, VARLINK_EXPECTED_MORE, NULL);
		return 0;
	}
	tail = calloc(1, sizeof(*tail));
	if (!tail)
		return -ENOMEM;
	tail->call = call;
	call_keep(call, tail, tail_free);
	r = open_source(call, &choice, tail);
	return r;
}
