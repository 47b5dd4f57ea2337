/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dumps of flight recorders. The main thread takes a view of the memory; a thread of low priority makes the
 * folder, passes the rows to a writer, which writes them to files as it does for a session, and notifies the
 * main loop at the end. Main thread.
 */
#pragma once

#include "engine.h"
#include "errand.h"
#include "session/session.h"

/* engine_dump_new(), of a session that runs; `all` is the list of all dumps that are being written. */
int dump_new(struct session *session, struct engine_dump **all, uint64_t last_ns, const char *output,
	     const struct rights *caller, engine_dump_handler handler, void *userdata, struct engine_dump **ret,
	     struct engine_error *error);

/* engine_dump_forget() */
void dump_forget(struct engine_dump *dump);

/*
 * The daemon ends: makes all dumps end soon, with unwritten rows counted as lost, and waits for them. False: a
 * disk does not answer, and its thread was left behind.
 */
bool dumps_end(struct engine_dump **all, struct errands *errands);
