/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions whose names are hashed: the key, and what their status may disclose. Main thread. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "anonymize.h"
#include "error.h"

struct session;

/* Makes the host's key of anonymisation if there is none; a failure is logged. */
void anonymize_prepare(const char *state_dir);

/* Makes the session's anonymizer from its key, if it is to have one. */
int anonymize_begin(struct session *session, struct engine_error *error);
void anonymize_end(struct session *session);

/* Takes ownership of the filters; returns what may be shown of them. */
struct json_object *anonymize_filters(const struct session *session, struct json_object *filters);

/* The same for the status of its snapshots: an object with one entry for each kind. */
struct json_object *anonymize_snapshots(const struct session *session, struct json_object *snapshots);

/* A copy, or another reference, of what was in flight at its end. */
struct json_object *anonymize_in_flight(const struct session *session, struct json_object *in_flight);
