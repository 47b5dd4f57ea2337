/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a session's rows lack at first, as hooks are attached behind its start: inode and device of operations that name a
 * file by its path, at function level. Status and manifest say so, with the times. Main thread.
 */
#pragma once

struct session;

/* When the session's hooks are wanted, and no row is recorded yet. */
void lacking_begin(struct session *session);

/* When it wants them no longer; also without the other, or twice. */
void lacking_end(struct session *session);
