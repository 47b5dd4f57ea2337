/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots on request, into the folder of a session or one of their own. Main thread. */
#pragma once

#include "engine.h"
#include "session/session.h"

/* engine_snapshot_new(); `session`: the one of the request's name if it runs, otherwise NULL. */
int ask_snapshot_new(struct session_context *context, const struct session *session,
		     const struct engine_snapshot_request *request, engine_snapshot_handler handler, void *userdata,
		     struct engine_snapshot **ret, struct engine_error *error);

/* engine_snapshot_free() */
void ask_snapshot_free(struct engine_snapshot *snapshot);
