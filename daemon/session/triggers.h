/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks once a second at the triggers of all sessions that run, and says which of them act. What they are about is counted
 * in the kernel, or asked of it and of systemd: no row is looked at. Main thread.
 */
#pragma once

#include <systemd/sd-event.h>

#include "errand.h"
#include "probes/probes.h"
#include "session/registry.h"

struct triggers;

struct triggers_config {
	sd_event *event;
	struct errands *errands;
	struct probes *probes;
	/*
	 * A trigger of the session holds, and has its turn; `value` is what was measured, as text. May end the session.
	 * `stops`: it is one of those that end it.
	 */
	void (*fired)(struct session *session, const struct iotr_trigger *trigger, const char *value, bool stops, void *userdata);
	void *userdata;
};

int triggers_new(const struct triggers_config *config, struct triggers **ret);
void triggers_free(struct triggers *triggers); /* before the errands end; takes NULL */

/* Looks at the sessions of the registry from now on, until none of them has a trigger. */
void triggers_run(struct triggers *triggers, const struct registry *registry);
