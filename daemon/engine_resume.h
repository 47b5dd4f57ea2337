/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions outlive the daemon. Main thread. */
#pragma once

#include "engine_internal.h"

/*
 * Sessions that ran when the daemon ended, however it did, go on (unless the configuration says
 * no), each in a new folder; those that were killed are set right in a thread of their own.
 */
void engine_resume(struct engine *engine);

/* Ends that thread; what it has not done is left to the next start. */
void engine_resume_end(struct engine *engine);

/* Notes a session whose folder is open, before the first file is in it; forgets it at its end. */
void session_note(struct session *session, int folder_fd);
void session_forget(struct session *session);
