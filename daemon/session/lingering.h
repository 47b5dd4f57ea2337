/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writers of sessions that have ended, whose manifest could not be written yet: they try again each second,
 * until the disk has room. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/writer/writer.h"
#include "session_spec.h"

struct lingering {
	struct writer *writers[IOTR_SESSIONS_MAX];
};

/* Takes ownership of the writer, which has ended: keeps it if its manifest waits, otherwise frees it. */
void lingering_add(struct lingering *lingering, struct writer *writer);

/* Frees those that have finished. */
void lingering_sweep(struct lingering *lingering);

/*
 * The daemon ends: waits for them until `until_ns` (CLOCK_MONOTONIC). False: a thread was left behind that
 * waits for its disk.
 */
bool lingering_end(struct lingering *lingering, uint64_t until_ns);
