/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a session needs of the disk before its first row: the key of anonymisation, its folder, the
 * note of it and its writer. A disk may hold that up for long, so a thread of its own opens them,
 * and tells the main loop through the engine's eventfd. Main thread.
 */
#pragma once

#include "engine_internal.h"

struct opening;

/*
 * Begins to open what the session, whose memory is there, needs. `before` is the note of the session
 * that it goes on from, or NULL; it is copied.
 */
int opening_new(const struct session *session, const struct running_note *before,
		struct opening **ret);

/* Nobody wants it any more: what is not opened yet is not, as far as the disk lets the thread know. */
void opening_cancel(struct opening *opening);

/* Whether the thread is at its end. */
bool opening_done(const struct opening *opening);

/* Waits for that until `until_ns` (CLOCK_MONOTONIC). */
bool opening_wait(struct opening *opening, uint64_t until_ns);

/*
 * The thread is at its end: what it has opened becomes the session's, and the opening is freed. On an
 * error there is nothing of it left. `*folder_fd` is the caller's; -1 where there is no folder.
 */
int opening_take(struct opening *opening, struct session *session, int *folder_fd,
		 struct engine_error *error);

/*
 * The thread is left to itself: should the disk answer, it removes what it has opened. It needs the
 * storage and the eventfd as long as the process lives. False: it has come to its end just now.
 */
bool opening_abandon(struct opening *opening);
