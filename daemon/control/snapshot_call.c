// SPDX-License-Identifier: GPL-2.0-or-later
#include "snapshot_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "reply.h"
#include "session_spec.h"
#include "spec/arguments.h"

struct snapshotting {
	struct call *call;
	const char *output; /* borrowed from the call; NULL: no folder was named */
	struct engine_snapshot *source;
};

static void snapshotting_free(void *state)
{
	struct snapshotting *snapshotting = state;

	engine_snapshot_free(snapshotting->source);
	free(snapshotting);
}

static void tell_progress(struct call *call, struct json_object *progress)
{
	struct json_object *parameters = json_object_new_object();

	json_object_object_add(parameters, "progress", progress);
	if (call->more)
		call_reply_more(call, parameters);
	else
		json_object_put(parameters);
}

/* After the last reply the client frees the call, and with it the snapshot. */
static void on_snapshot(struct json_object *progress, struct json_object *done,
			const struct engine_error *error, void *userdata)
{
	struct snapshotting *snapshotting = userdata;

	if (progress) {
		tell_progress(snapshotting->call, progress);
	} else if (!strcmp(error->parameter, "output")) {
		json_object_put(done);
		reply_output(snapshotting->call, snapshotting->output ?: "", error->message);
	} else if (*error->message) {
		json_object_put(done);
		call_failed(snapshotting->call, "no snapshot was taken: %s", error->message);
	} else {
		call_reply(snapshotting->call, done);
	}
}

static int parse_kind(struct json_object *value, void *target, struct engine_error *error)
{
	struct engine_snapshot_request *request = target;
	const char *name = NULL;
	int r = argument_string(value, &name, error), kind;

	if (r < 0 || !strcmp(name, "all"))
		return r;
	kind = engine_snapshot_kind(name);
	if (kind < 0)
		return argument_refuse(error, "'%.64s' is none of system, process, filesystem, all",
				       name);
	request->kinds = 1U << kind;
	return 0;
}

static int parse_depth(struct json_object *value, void *target, struct engine_error *error)
{
	uint64_t depth = 0;
	int r = argument_number(value, 0, IOTR_SNAPSHOTS_DEPTH_MAX, &depth, error);

	if (r >= 0)
		((struct engine_snapshot_request *)target)->depth = (int64_t)depth;
	return r;
}

/* Must come after the name in the table. */
static int parse_output(struct json_object *value, void *target, struct engine_error *error)
{
	struct engine_snapshot_request *request = target;

	if (request->name)
		return argument_refuse(error, "a session has its own folder: give a name or an output");
	return argument_folder(value, &request->output, error);
}

/* Must come after "anonymize" in the table. */
static int parse_anonymize_host(struct json_object *value, void *target, struct engine_error *error)
{
	struct engine_snapshot_request *request = target;
	int r = argument_flag(value, &request->anonymize_host, error);

	request->anonymize |= request->anonymize_host;
	return r;
}

#define OFFSET(field) offsetof(struct engine_snapshot_request, field)

static const struct argument snapshot_arguments[] = {
	{ .name = "kind", .parse = parse_kind },
	{ .name = "name", .parse = argument_session, .offset = OFFSET(name) },
	{ .name = "root", .parse = argument_folder, .offset = OFFSET(root) },
	{ .name = "depth", .parse = parse_depth },
	{ .name = "output", .parse = parse_output },
	{ .name = "anonymize", .parse = argument_flag, .offset = OFFSET(anonymize) },
	{ .name = "anonymize_host", .parse = parse_anonymize_host },
	{ .name = NULL },
};

static void reply_refused(struct call *call, const struct engine_snapshot_request *request, int r,
			  const struct engine_error *error)
{
	if (r == -ENOENT && request->name)
		reply_no_such_session(call, request->name);
	else
		call_failed(call, "the snapshot cannot be taken: %s",
			    *error->message ? error->message : strerror(-r));
}

int snapshot_call(struct call *call)
{
	struct engine_snapshot_request request = { .depth = -1, .caller = call->caller };
	struct engine_error error = { 0 };
	struct snapshotting *snapshotting;
	int r;

	if (call_arguments(call, snapshot_arguments, &request) < 0)
		return 0;
	snapshotting = calloc(1, sizeof(*snapshotting));
	if (!snapshotting)
		return -ENOMEM;
	snapshotting->call = call;
	snapshotting->output = request.output;
	call_keep(call, snapshotting, snapshotting_free);
	r = engine_snapshot_new(call->control->engine, &request, on_snapshot, snapshotting,
				&snapshotting->source, &error);
	if (r < 0)
		reply_refused(call, &request, r, &error);
	return 0;
}
