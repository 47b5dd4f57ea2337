/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An engine that traces nothing, behind daemon/engine.h: sessions are names in a list. What a
 * session's name or output makes of it:
 *
 *   name "nohook"     cannot be started: no stream has a hook
 *   name "partial"    runs, and misses an operation
 *   name "slow..."    is stopped and rotated some time after that was asked for
 *   output "/refused" cannot be written
 */
#pragma once

#include "engine.h"

/* The definition the session was last started with; NULL when there is none of that name. */
const struct iotr_session_spec *fake_engine_spec(struct engine *engine, const char *name);

/* The loop that it answers on. */
sd_event *fake_engine_event(const struct engine *engine);
