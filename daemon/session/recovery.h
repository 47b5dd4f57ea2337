/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets right the folders of sessions whose daemon was killed, whose notes are in STATE/recover. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "pipeline/recover/recover.h"
#include "pipeline/storage/storage.h"
#include "session/running.h"

/*
 * Recovers the folder of the note's session, and counts its rows and bytes, unless `extent` is NULL. Returns 0,
 * 1 or a negative errno as recover_folder() does. `limited`: there is a limit for all traces together; `log`: the
 * rights that are used below the log folder. Any thread.
 */
int recovery_run(const char *state_dir, const struct rights *log, bool limited, const struct running_note *note,
		 _Atomic bool *cancel, struct recover_extent *extent);

/* Logs that a folder could not be recovered, unless the error is -ECANCELED. Any thread. */
void recovery_failed(const struct running_note *note, int error);

/* ---- the thread that recovers them all, one after the other, at low priority; main thread ---- */

struct recovery;

/* `state_dir` and the rights are copied; the storage must live as long as the thread. -ENOMEM. */
int recovery_new(const char *state_dir, const struct rights *log, bool limited, struct storage *storage,
		 struct recovery **ret);

/* Before it begins: sessions that are being started, whose notes may yet move to STATE/recover. */
void recovery_expect(struct recovery *recovery);

/* One of these has started, or has not; its note has moved. Both take NULL. */
void recovery_expect_less(struct recovery *recovery);

/* Starts the thread, which begins with all notes that are there. -errno. */
int recovery_start(struct recovery *recovery);

/*
 * The daemon ends: cancels it and frees it; notes that it has not dealt with are left to the next start. False:
 * it works on a disk that does not answer, and was left behind. Takes NULL.
 */
bool recovery_end(struct recovery *recovery);
