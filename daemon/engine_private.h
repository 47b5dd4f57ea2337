/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of engine.h share: engine.c, which makes the parts and ends them, engine_requests.c, which hands requests
 * to them, and engine_state.c, which tells of them. Main thread.
 */
#pragma once

#include "engine.h"
#include "session/context.h"
#include "session/registry.h"
#include "session/tick.h"
#include "session/totals.h"
#include "session/vitals.h"

/* It owns all that it points at. */
struct engine {
	struct session_context context;
	struct registry *registry;
	struct tick tick;
	struct triggers *triggers;
	struct totals totals;
	struct vitals consumer; /* of its thread */
	struct recovery *recovery; /* of the folders of killed sessions; NULL: there is no memory for it */
	struct engine_dump *dumps; /* dumps that are being written */
	struct doctor *doctor;
	sd_event_source *notices, *again;
	const char *block_flags[32];
};
