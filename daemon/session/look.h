/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Summaries for the method Top: rows of a flight recorder since the last call, summed up by who caused them. */
#pragma once

#include "engine.h"
#include "session/session.h"

/* engine_look(); -ENOENT: it is no flight recorder. Main thread. */
int look_at(struct session *session, const struct engine_look *look, uint64_t *since_ns, struct json_object **ret);

/* engine_look_order() */
const char *look_order(const char *name);

/* engine_look_by() */
const char *look_by(const char *name);
