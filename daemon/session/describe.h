/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of sessions as JSON. Main thread. */
#pragma once

#include <json-c/json.h>

#include "pipeline/writer/losses.h"
#include "session/session.h"

/* New object: the status of a session. */
struct json_object *describe_session(const struct session *session);

/* New array: each of its triggers, what it does, and when it did so last. */
struct json_object *describe_triggers(const struct session *session);

/* New object: the counts of each of its streams. */
struct json_object *describe_streams(const struct session *session);

/* Adds "lost": rows lost, by cause, and `names`, how many rows only lack one. */
void describe_lost(struct json_object *object, const uint64_t lost[LOSS_CAUSES], uint64_t names);
