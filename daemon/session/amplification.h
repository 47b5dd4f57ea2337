/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A request for amplification: what somebody wants to know of what is counted. Main thread. */
#pragma once

#include "session/context.h"

/* As those of engine.h. */
int amplification_new(struct session_context *context, const struct engine_amplification_wish *wish,
		      engine_begun_handler begun, void *userdata, struct engine_amplification **ret,
		      struct engine_error *error);
int amplification_look(struct engine_amplification *amplification, struct json_object **ret);
void amplification_free(struct engine_amplification *amplification);
