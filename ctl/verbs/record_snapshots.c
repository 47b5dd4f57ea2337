// SPDX-License-Identifier: GPL-2.0-or-later
#include "verbs/record_snapshots.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "output/complain.h"
#include "output/json.h"
#include "protocol.h"
#include "request/request.h"
#include "verbs/child.h"

enum {
	WAIT_MS = 2000,
	INTERVAL_MS = 10,
};

/* The walk of the file system may take hours, so it is not waited for. */
static const char *const quick_kinds[] = { "system", "process" };

enum { QUICK_KINDS = sizeof(quick_kinds) / sizeof(quick_kinds[0]) };

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct json_object *snapshot_of(struct json_object *session, const char *kind)
{
	return member_of(member_of(session, "snapshots"), kind);
}

static bool in_progress(struct json_object *session)
{
	for (size_t i = 0; i < QUICK_KINDS; i++) {
		const char *state = text_of(snapshot_of(session, quick_kinds[i]), "state", "");

		if (!strcmp(state, "waiting") || !strcmp(state, "running"))
			return true;
	}
	return false;
}

/*
 * Whether the session runs and one of its quick snapshots is not done yet. Errors are ignored here, as they
 * are reported when the session is stopped.
 */
static bool to_be_waited_for(struct connection *connection, const char *name)
{
	_cleanup_json_ struct json_object *parameters = json_object_new_object();
	_cleanup_json_ struct json_object *message = NULL;
	struct json_object *sessions, *session;

	json_object_object_add(parameters, "name", json_object_new_string(name));
	if (connection_send(connection, IOTR_INTERFACE ".Status", parameters, false) < 0 ||
	    connection_receive(connection, &message) < 0 || request_error(message))
		return false;
	sessions = member_of(member_of(message, "parameters"), "sessions");
	session = count_of(sessions) ? json_object_array_get_idx(sessions, 0) : NULL;
	return !strcmp(text_of(session, "state", ""), "running") && in_progress(session);
}

void record_snapshots_wait(struct connection *connection, const char *name, struct child *child)
{
	uint64_t until = now_ms() + WAIT_MS;

	while (to_be_waited_for(connection, name) && now_ms() < until)
		if (child_interrupted(child, INTERVAL_MS))
			return;
}

void record_snapshots_complain(struct json_object *session)
{
	for (size_t i = 0; i < QUICK_KINDS; i++) {
		struct json_object *snapshot = snapshot_of(session, quick_kinds[i]);

		if (!strcmp(text_of(snapshot, "state", ""), "failed"))
			complain(NULL, "the trace has no %s snapshot: %s", quick_kinds[i],
				 text_of(snapshot, "message", "it was not taken"));
	}
}
