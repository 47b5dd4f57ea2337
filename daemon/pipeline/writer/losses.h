/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The times at which a session lost rows. Losses are counted where they happen. A look, about once a second,
 * reads these counts, and their growth since the last look becomes an entry: a number of rows of a stream, for
 * one cause, between two instants. The rows of all entries of a stream and a cause always add up to the count
 * at the last look.
 *
 * Memory is bounded: when there are too many entries, neighbours are merged in pairs. Any thread.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "events.h"

enum {
	LOSSES_MAX = 1000, /* entries */
};

enum loss_cause {
	LOSS_RING,	/* between kernel and daemon */
	LOSS_QUEUE,	/* the writer could not keep up */
	LOSS_DISK,	/* the disk took no rows */
	LOSS_UNMATCHED, /* the kernel side had no room to remember the beginning, or saw no end */
	LOSS_CAUSES,
};

/* Names of the causes, as in `lost` of status and manifest. */
extern const char *const loss_names[LOSS_CAUSES];

/* Rows since the session began. */
struct losses_counts {
	uint64_t rows[IOTR_STREAM_COUNT][LOSS_CAUSES];
};

struct losses;

/* `session` is for the log, and copied. */
int losses_new(const char *session, struct losses **ret);
void losses_free(struct losses *losses); /* takes NULL */

/*
 * Takes a look: `read` fills in the counts, under a lock that excludes other looks, and `*ret` gets them. True:
 * there are entries that losses_describe() has not returned yet.
 */
typedef void (*losses_read)(struct losses_counts *counts, void *userdata);
bool losses_look(struct losses *losses, losses_read read, void *userdata, struct losses_counts *ret);

/*
 * Logs a line for each stream and cause of which rows were lost that no line has told of: at once, and then once within
 * LOSSES_LOG_EVERY_NS. `last`: nothing waits for a later call. `now`: CLOCK_MONOTONIC.
 */
#define LOSSES_LOG_EVERY_NS (60 * 1000000000ULL)
void losses_log(struct losses *losses, uint64_t now, bool last);

/*
 * New array of the latest entries, oldest first, at most `most`: {stream, cause, rows, from, to,
 * from_mono_ns, to_mono_ns}, and `looks` where an entry stands for more than one.
 */
struct json_object *losses_describe(struct losses *losses, size_t most);
