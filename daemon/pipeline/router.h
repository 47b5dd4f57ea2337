/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows to sessions: resolves the names of a row once and queues it for every session in its mask.
 *
 * Threads: router_begin(), router_row() and router_end() belong to the consumer thread;
 * router_attach() and router_detach() to any other. They exclude each other by a lock that the
 * consumer holds from begin to end, and lends between two rows when somebody waits for it. A
 * consumer that does not end a drain, because rows come as fast as it takes them, is no obstacle.
 * The router owns neither names nor writers nor recorders.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record.h"

struct names;
struct recorder;
struct router;
struct writer;

struct router_config {
	struct names *names;
	/* Called inside router_row() for a name that is unknown: drain the name ring, names_add().
	 */
	void (*drain_names)(void *userdata); /* may be NULL */
	void *userdata;
};

int router_new(const struct router_config *config, struct router **ret);
void router_free(struct router *router); /* takes NULL; all sessions are detached by then */

/* `session` is the bit of the mask, 0...63. -EBUSY: taken. */
int router_attach(struct router *router, unsigned int session, struct writer *writer);

/* The same for a session whose rows are kept in memory. */
int router_attach_recorder(struct router *router, unsigned int session, struct recorder *recorder);

/* When it returns, nobody gets more rows; what a writer's queue holds has been made known to it. */
void router_detach(struct router *router, unsigned int session);

/* Rows by operation. Main thread, once the tally has ended; the consumer thread until then. */
struct router_tally {
	uint32_t rows[IOTR_STREAM_COUNT][IOTR_OPERATIONS_MAX];
};

/*
 * Counts the rows of the sessions in the mask, whether these have writers or not. NULL: counts no
 * more, and when it returns the tally before is left alone.
 */
void router_tally_set(struct router *router, uint64_t sessions, struct router_tally *tally);

/* Around one drain of the rings: the writers are woken in router_end(), and when much has piled up.
 */
void router_begin(struct router *router);
void router_end(struct router *router);

/*
 * One row, as the ring has it. Bits of sessions that are not attached are ignored.
 * Always 0, so that a ring callback may return it: a row that cannot be read is counted.
 */
int router_row(struct router *router, const struct iotr_record *record, size_t size);

struct router_counts {
	uint64_t rows;		/* seen */
	uint64_t malformed;	/* of a size or stream that cannot be; belong to no session */
	uint64_t names_missing; /* names or parents that stayed unknown: rows without a full path */
};

/* Any thread. */
void router_counts(const struct router *router, struct router_counts *counts);
