/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows that several sessions want as CSV in the clear: kept once, with their lines, and handed on in runs. A run is rows of
 * one stream, one behind the other, that the same sessions want: each of these is handed the whole of it at once. One thread,
 * that of the consumer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "queue.h"

struct runs;

/* Hands a run on to its sessions, a bit for each, which take a reference. */
typedef void (*runs_ended)(const struct queue_run *run, uint64_t sessions, void *userdata);

int runs_new(runs_ended ended, void *userdata, struct runs **ret); /* -ENOMEM */
void runs_free(struct runs *runs); /* with no run open; takes NULL */

/*
 * Adds the row to the run of its stream, for these sessions. False: it is too long, or there is no memory; those are handed it
 * as it is, and the run before it has been handed on.
 */
bool runs_add(struct runs *runs, const struct row *row, uint64_t sessions);

/* Hands the run of a stream on, as a row follows that is none of it; that of any. */
void runs_end(struct runs *runs, enum iotr_stream stream);
void runs_end_all(struct runs *runs);

/* Called once for each drain, with no run open: gives memory back that has not been needed for a while. */
void runs_drained(struct runs *runs);
