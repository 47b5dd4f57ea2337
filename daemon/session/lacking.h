/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a session's rows lack at first, as hooks are attached behind its start: see enum probes_lack. Status and manifest say so,
 * with the times. Main thread.
 */
#pragma once

#include <stdint.h>

struct session;

/* When the session's hooks are wanted, and no row is recorded yet. */
void lacking_begin(struct session *session);

/* When it wants them no longer; also without the other, or twice. */
void lacking_end(struct session *session);

/*
 * What of that its filters judge, as a mask with a bit for each enum probes_lack: they would leave out rows that lack it, so the
 * session waits for it.
 */
uint32_t lacking_judged(const struct session *session);
