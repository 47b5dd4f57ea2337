/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions go on after the daemon's end, from their notes. Main thread. */
#pragma once

#include "session/recovery.h"
#include "session/registry.h"

/*
 * Sessions that ran when the daemon ended, for whatever reason, go on (unless the configuration forbids it), each
 * in a new folder; the notes of all of them move to STATE/recover. When this returns, the sessions run, except
 * for those whose disk takes too long. `recovery` may be NULL; it learns of notes that move.
 */
void resume_sessions(struct registry *registry, struct session_context *context, struct recovery *recovery);
