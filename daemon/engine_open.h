/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a session needs of the disk before its first row: the key of anonymisation, its folder, its note and
 * its writer. As a disk may delay this for long, a thread opens them and notifies the main loop through the
 * engine's eventfd. For a session that continues it tries again, after pauses, as long as the disk is full or
 * fails; only a stop or the session's own limits end this. Main thread.
 */
#pragma once

#include "engine_internal.h"

struct opening;

/*
 * Begins to open what the session needs; its memory must be allocated already. `before` is the note of the
 * session that it continues, or NULL; it is copied.
 */
int opening_new(const struct session *session, const struct running_note *before,
		struct opening **ret);

/* The session was stopped: the thread opens nothing further, as soon as the disk lets it notice. */
void opening_cancel(struct opening *opening);

/* Adds "start_error" to the status if the thread is trying again. */
void opening_describe_trouble(struct opening *opening, struct json_object *status);

/* Whether the thread has ended. */
bool opening_done(const struct opening *opening);

/* Waits for the thread until `until_ns` (CLOCK_MONOTONIC). Returns whether it has ended. */
bool opening_wait(struct opening *opening, uint64_t until_ns);

/*
 * After the thread has ended: moves what it has opened to the session, and frees the opening. On an error
 * nothing that was opened remains. The caller owns `*folder_fd`; -1: there is no folder.
 */
int opening_take(struct opening *opening, struct session *session, int *folder_fd,
		 struct engine_error *error);

/*
 * Leaves the thread alone: if the disk answers one day, it removes what it has opened. It needs the storage
 * and the eventfd as long as the process lives. Returns false if the thread has ended just now.
 */
bool opening_abandon(struct opening *opening);
