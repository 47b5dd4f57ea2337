/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Continues sessions after a restart of the daemon, and recovers folders. Main thread. */
#pragma once

#include "engine_internal.h"

/*
 * Sessions that ran when the daemon ended, for whatever reason, continue (unless the configuration forbids
 * it), each in a new folder; a thread recovers the folders of those that were killed. When this returns, the
 * sessions run, except for those whose disk takes too long.
 */
void engine_resume(struct engine *engine);

/* Ends that thread; the notes it has not dealt with are left to the next start. */
void engine_resume_end(struct engine *engine);

/*
 * Recovers the folder of the note's session, and counts its rows and bytes, unless `extent` is NULL. Returns
 * 0, 1 or a negative errno as recover_folder() does. `limited`: engine_storage_limited(); `log`: the rights
 * that are used below the log folder. Any thread.
 */
int session_set_right(const char *state_dir, const struct rights *log, bool limited,
		      const struct running_note *note, _Atomic bool *cancel, struct recover_extent *extent);

/* Logs that a folder could not be recovered, unless the error is -ECANCELED. */
void session_not_right(const struct running_note *note, int error);

/* Whether the error says that the disk is full or fails, so that a later try may succeed. */
bool disk_may_mend(int error);

/* Fills in a note from what is known of a session so far; release it with running_note_done(). */
void session_describe(const struct session *session, struct running_note *note);

/*
 * Writes the note of a session whose folder is open, before its first file is made. Returns 0 or a negative
 * errno. Any thread.
 */
int session_note(const char *state_dir, struct running_note *note, int folder_fd);

/* Logs that a running session has no note. */
void session_note_failed(const char *state_dir, const struct running_note *note, int error);

/*
 * Writes the note before the folder is made, so that an empty folder can be removed after a crash. Must be
 * called with the rights of the folder's future owner, which it restores.
 */
void session_note_ahead(const char *state_dir, struct running_note *note, const char *path);
void session_note_again(struct session *session); /* writes the note again after the definition has changed */
void session_forget(struct session *session); /* removes the note at the session's end */
