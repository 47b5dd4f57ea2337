/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The note of a running session, from which it goes on after the daemon's end (running.h): written before its
 * first file is made, written anew when its filters change, removed at its end.
 */
#pragma once

#include "session/session.h"

/* Fills in a note from what is known of a session so far; release it with running_note_done(). Main thread. */
void note_describe(const struct session *session, struct running_note *note);

/*
 * Writes the note before the folder is made, so that an empty folder can be removed after a crash. Must be
 * called with the rights of the folder's future owner, which it restores. Any thread.
 */
void note_ahead(const char *state_dir, struct running_note *note, const char *path);

/* Writes the note of a session whose folder is open. Returns 0 or a negative errno. Any thread. */
int note_write(const char *state_dir, struct running_note *note, int folder_fd);

/* Logs that a running session has no note. Any thread. */
void note_failed(const char *state_dir, const struct running_note *note, int error);

/* The definition has changed: writes the note again. Main thread. */
void note_again(struct session *session);

/*
 * The session is over: the note is removed. It stays if the session ends with the daemon, so that it goes on; it
 * moves to recovery if the manifest could not be written. Main thread.
 */
void note_end(struct session *session);
