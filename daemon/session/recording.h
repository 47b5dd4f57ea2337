/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows for a session: what lets the programs emit them, and what ends that without losing any. Main thread. */
#pragma once

#include "session/session.h"

/* Attaches the hooks ahead of recording_begin(), which does it otherwise. */
void recording_want(struct session *session);

/*
 * Begins with the snapshots, if there is a folder (`folder_fd`, -1: there is none; it stays the caller's),
 * attaches the hooks, sets the filters, and opens the slot. -errno, after which recording_end() is to be called.
 */
int recording_begin(struct session *session, int folder_fd, struct engine_error *error);

/*
 * Ends the rows: when it returns, all that were emitted are in the queue of the sink, with the last counts. Hooks that
 * no session needs are detached.
 */
void recording_end(struct session *session);
