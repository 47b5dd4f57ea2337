/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes the filters of a running session: a thread looks at paths that are given, as their disk may hang;
 * then the main loop gives the session another slot with the new filters. Main thread.
 */
#pragma once

#include "engine.h"
#include "session/registry.h"

/* engine_set() and engine_set_cancel() */
int set_new(struct registry *registry, const char *name, const struct engine_change *change,
	    engine_set_handler handler, void *userdata, struct engine_setting **ret, struct engine_error *error);
void set_cancel(struct engine_setting *setting);
