/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots of a session that may be as short as its command: those of system and processes, which begin with
 * the session, are quick, and a trace without them says little about the machine. One thread.
 */
#pragma once

#include <json-c/json.h>

#include "verbs/child.h"
#include "request/connection.h"

/*
 * Waits until these snapshots are done, two seconds at most. The session runs meanwhile, and the daemon is not
 * delayed. A signal ends the wait.
 */
void record_snapshots_wait(struct connection *connection, const char *name, struct child *child);

/* Prints on stderr which of these snapshots the ended session lacks. */
void record_snapshots_complain(struct json_object *session);
