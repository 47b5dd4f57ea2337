/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions outlive the daemon. Main thread. */
#pragma once

#include "engine_internal.h"

/*
 * Sessions that ran when the daemon ended, however it did, go on (unless the configuration says
 * no), each in a new folder; those that were killed are set right in a thread of their own. When this
 * returns, they run, but for those whose disk takes its time.
 */
void engine_resume(struct engine *engine);

/* Ends that thread; what it has not done is left to the next start. */
void engine_resume_end(struct engine *engine);

/*
 * Sets right what the session left that the note tells of, and counts it, unless `extent` is NULL. 0, 1 or
 * a negative errno as of recover_folder(), which is logged but for -ECANCELED. `limited`:
 * engine_storage_limited(). Any thread.
 */
int session_set_right(const char *state_dir, bool limited, const struct running_note *note,
		      _Atomic bool *cancel, struct recover_extent *extent);

/* What a note tells of a session, as far as it is known yet; with running_note_done(). */
void session_describe(const struct session *session, struct running_note *note);

/*
 * Notes a session whose folder is open, before the first file is in it; a failure is logged. Any thread.
 */
void session_note(const char *state_dir, struct running_note *note, int folder_fd);
void session_note_again(struct session *session); /* its definition has changed */
void session_forget(struct session *session); /* at its end */
