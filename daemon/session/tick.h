/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is done regularly while sessions run. Each second: samples for rates, and a look at what was lost, so that
 * losses have a time. Every five seconds: the counts of the BPF programs go to the sinks, so that the manifest of
 * a session that crashes is not stale. Main thread.
 */
#pragma once

#include <systemd/sd-event.h>

#include "session/rates.h"
#include "session/registry.h"

struct tick {
	struct session_context *context;
	const struct registry *registry;
	sd_event_source *second, *report; /* timers */
	struct rates daemon;		  /* its CPU time */
};

/* Takes an all-zero tick; the registry may be made later. */
int tick_init(struct tick *tick, struct session_context *context);
void tick_done(struct tick *tick);

/* Goes on until no session exists any more. */
void tick_run(struct tick *tick);
