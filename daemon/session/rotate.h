/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rotation on request. Main thread. */
#pragma once

#include "engine.h"
#include "session/session.h"

/* engine_rotate(), of a session that runs */
int rotate_new(struct session *session, engine_handler handler, void *userdata);
