/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of sessions as JSON. Main thread. */
#pragma once

#include <json-c/json.h>

#include "session/session.h"

/* New object: the status of a session. */
struct json_object *describe_session(const struct session *session);

/* New array: each of its triggers, what it does, and when it did so last. */
struct json_object *describe_triggers(const struct session *session);

/* New object: the counts of each of its streams. */
struct json_object *describe_streams(const struct session *session);

/* Adds "lost": rows lost by the BPF programs and by the sink; `lost_names` counts rows that only lack a name. */
void describe_lost(struct json_object *object, const struct writer_probes *probes, const struct row_counts *counts);
