// SPDX-License-Identifier: GPL-2.0-or-later
#include "rotate.h"

#include <errno.h>

#include "cleanup.h"
#include "context.h"
#include "gathering.h"
#include "reply.h"
#include "sessions.h"
#include "spec/arguments.h"

static const struct argument rotate_arguments[] = {
	{ .name = "name", .parse = argument_session },
	{ .name = NULL },
};

static void on_rotated(int result, struct json_object *paths, void *userdata)
{
	struct gathering *gathering = userdata;

	for (size_t i = 0; paths && i < json_object_array_length(paths); i++)
		gathering_add(gathering, json_object_get(json_object_array_get_idx(paths, i)));
	json_object_put(paths);
	gathering_end(gathering, result);
}

static int rotate_one(struct call *call, const char *name, struct gathering *gathering)
{
	int r;

	gathering_begin(gathering);
	r = engine_rotate(call->control->engine, name, on_rotated, gathering);
	if (r < 0)
		gathering_end(gathering, 0); /* the caller decides what this error means */
	return r;
}

int rotate_call(struct call *call)
{
	_cleanup_json_ struct json_object *sessions = NULL;
	struct gathering *gathering;
	const char *name = NULL; /* NULL: all sessions */
	int r;

	if (call_arguments(call, rotate_arguments, &name) < 0)
		return 0;
	r = sessions_find(call, name, &sessions);
	if (r < 0)
		return r;
	gathering = gathering_new(call, "closed");
	if (!gathering)
		return -ENOMEM;
	for (size_t i = 0; i < json_object_array_length(sessions); i++) {
		int q = rotate_one(call, sessions_name(sessions, i), gathering);

		if (q < 0 && ((q != -ENOENT && q != -EOPNOTSUPP) || name))
			r = q;
	}
	if (r == -ENOENT)
		reply_no_such_session(call, name);
	else if (r == -EOPNOTSUPP)
		reply_in_memory(call, name);
	gathering_end(gathering, r == -ENOENT || r == -EOPNOTSUPP ? 0 : r);
	return 0;
}
