/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is still in flight when a session ends, and so has no row: how much of each stream, and what is oldest. Main thread. */
#pragma once

#include "session/session.h"

/* Before the slots of the session are closed: it tells its sink, and has it for its status. */
void unended_tell(struct session *session);
