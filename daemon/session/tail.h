/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live tails: the writer's tap puts rows into a bounded list, the main loop passes them to the tails. The list
 * is shared with the writer thread, under its lock; everything else belongs to the main thread.
 */
#pragma once

#include "engine.h"
#include "session/session.h"

/* engine_tail_new(), of a session that runs; engine_tail_free() */
int tail_new(struct session *session, uint32_t stream_mask, engine_tail_handler handler, void *userdata,
	     struct engine_tail **ret);
void tail_free(struct engine_tail *tail);
