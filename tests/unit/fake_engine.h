/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An engine that traces nothing, behind daemon/engine.h: sessions are names in a list. What a
 * session's name or output makes of it:
 *
 *   name "nohook"     cannot be started: no stream has a hook
 *   name "partial"    runs, and misses an operation
 *   name "slow..."    is stopped and rotated some time after that was asked for
 *   name "fixed"      runs, and its filters cannot be changed
 *   output "/refused" cannot be written
 *   command "slow"    starts some time after that was asked for
 */
#pragma once

#include "engine.h"

#define FAKE_ENGINE_SLOW      "slow"
#define FAKE_ENGINE_SLOW_USEC 200000

/* The definition the session was last started with; NULL when there is none of that name. */
const struct iotr_session_spec *fake_engine_spec(struct engine *engine, const char *name);

/* A row for every tail of the session, `count` times. */
void fake_engine_emit(struct engine *engine, const char *name, unsigned count);

/* As when its duration is over: tails are told, the session is gone. */
void fake_engine_end(struct engine *engine, const char *name);

/* No more rows of its own accord. */
void fake_engine_quiet(struct engine *engine);

/* The loop that it answers on. */
sd_event *fake_engine_event(const struct engine *engine);

/* How many tails are open. */
size_t fake_engine_tails(const struct engine *engine);
