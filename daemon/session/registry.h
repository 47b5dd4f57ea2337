/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All sessions, by name, and the last status of those that have ended. Main thread.
 */
#pragma once

#include <json-c/json.h>

#include "engine.h"
#include "session/running.h"
#include "session/session.h"

enum {
	ENDED_MAX = 64, /* ended sessions, not stopped by a user, whose last status is kept */
};

struct registry;

struct registry_config {
	struct session_context *context;
	/* A session runs now, after there may have been none for a while. */
	void (*runs)(void *userdata);
	/* It ran, and has ended: its last counts are there to be read. */
	void (*ended)(const struct session *session, void *userdata);
	void *userdata;
};

int registry_new(const struct registry_config *config, struct registry **ret);
void registry_free(struct registry *registry); /* after registry_end(); takes NULL */

/*
 * engine_start(), with the note of the session that this one continues in `before`, or NULL. The handler gets
 * -ESHUTDOWN if the daemon ended before the session ran.
 */
int registry_start(struct registry *registry, const struct iotr_session_spec *spec, const struct rights *owner,
		   const struct running_note *before, engine_start_handler handler, void *userdata,
		   struct engine_error *error);

/* engine_stop() */
int registry_stop(struct registry *registry, const char *name, engine_handler handler, void *userdata);

/* The session of that name, in any state, or NULL. */
struct session *registry_find(const struct registry *registry, const char *name);

/* The same, but only if it runs. */
struct session *registry_find_running(const struct registry *registry, const char *name);

/* Session number `i`, in the order of their starts; NULL: there are no more. */
struct session *registry_at(const struct registry *registry, size_t i);

/* New array with the status of the session, or of all when name is NULL; ended ones come first. -ENOENT. */
int registry_status(const struct registry *registry, const char *name, struct json_object **ret);

/*
 * A notification came: goes on with what threads and writers have done. Returns when it is to be called again, as
 * errands_take_turn() does.
 */
uint64_t registry_see_to(struct registry *registry);

/* Waits until no session is starting any more, or until `until_ns` (CLOCK_MONOTONIC). */
void registry_await_starts(struct registry *registry, uint64_t until_ns);

/*
 * The daemon ends: all sessions end at once, so that the time limits for a slow disk do not add up, and are
 * waited for.
 */
void registry_end(struct registry *registry);
