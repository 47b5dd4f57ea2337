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
	struct gathered *gathered = userdata;

	for (size_t i = 0; paths && i < json_object_array_length(paths); i++)
		gathered_add(gathered, json_object_get(json_object_array_get_idx(paths, i)));
	json_object_put(paths);
	gathered_end(gathered, result);
}

/* -ENOENT, -EOPNOTSUPP: there is nothing to be rotated; -ENOMEM. Any other error is a result. */
static int rotate_one(struct call *call, const char *name, struct gathering *gathering)
{
	struct gathered *gathered = gathering_begin(gathering, name);
	bool nothing;
	int r;

	if (!gathered)
		return -ENOMEM;
	r = engine_rotate(call->control->engine, name, on_rotated, gathered);
	nothing = r == -ENOENT || r == -EOPNOTSUPP;
	if (r < 0)
		gathered_end(gathered, nothing ? 0 : r);
	return nothing ? r : 0;
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
	gathering = gathering_new(call, "closed", !name);
	if (!gathering)
		return -ENOMEM;
	for (size_t i = 0; i < json_object_array_length(sessions); i++) {
		int q = rotate_one(call, sessions_name(sessions, i), gathering);

		if (q == -ENOMEM || name)
			r = q;
	}
	if (r == -ENOENT)
		reply_no_such_session(call, name);
	else if (r == -EOPNOTSUPP)
		reply_in_memory(call, name);
	gathering_end(gathering, r == -ENOENT || r == -EOPNOTSUPP ? 0 : r);
	return 0;
}
