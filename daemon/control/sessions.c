// SPDX-License-Identifier: GPL-2.0-or-later
#include "sessions.h"

#include <errno.h>

#include "call.h"
#include "context.h"
#include "reply.h"

int sessions_find(struct call *call, const char *name, struct json_object **ret)
{
	int r = engine_status(call->control->engine, name, ret);

	if (r == -ENOENT && name)
		reply_no_such_session(call, name);
	return r;
}

const char *sessions_name(struct json_object *sessions, size_t i)
{
	struct json_object *name = NULL;

	json_object_object_get_ex(json_object_array_get_idx(sessions, i), "name", &name);
	return json_object_get_string(name) ?: "";
}
