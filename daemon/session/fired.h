/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a session's trigger does: it dumps a flight recorder, begins what waits, or ends the session. Main thread. */
#pragma once

#include "session/dump.h"

/* triggers_config.fired(); `userdata` is the list of all dumps that are being written. */
void fired(struct session *session, const struct iotr_trigger *trigger, const char *value, bool stops, void *userdata);
