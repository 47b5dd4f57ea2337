/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows to sessions: resolves the names of a row once and queues it for every session in its session
 * mask.
 *
 * Threads: router_begin(), router_row() and router_end() belong to the consumer thread;
 * router_attach() and router_detach() to any other. They exclude each other by a lock that the
 * consumer holds from begin to end, and releases between two rows when a thread waits for it. So
 * they do not wait for the end of a drain, which may be far when rows come as fast as the consumer
 * takes them. The router owns neither names nor writers nor recorders.
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
	/* Called inside router_row() for a name that is unknown: drains the name ring by names_add(). */
	void (*drain_names)(void *userdata); /* may be NULL */
	void *userdata;
};

int router_new(const struct router_config *config, struct router **ret);
void router_free(struct router *router); /* takes NULL; all sessions are detached by then */

/* `session` is the session's slot, 0...63, and its bit of the session mask. -EBUSY: taken. */
int router_attach(struct router *router, unsigned int session, struct writer *writer);

/* The same for a session whose rows are kept in memory. */
int router_attach_recorder(struct router *router, unsigned int session, struct recorder *recorder);

/* When it returns, the session gets no more rows, and its writer has been woken for what is in its queue. */
void router_detach(struct router *router, unsigned int session);

/* Rows by operation. It belongs to the consumer thread until the tally has ended, then to the main thread. */
struct router_tally {
	uint32_t rows[IOTR_STREAM_COUNT][IOTR_OPERATIONS_MAX];
};

/*
 * Counts the rows of the sessions in the mask, whether these have writers or not. NULL ends the
 * counting: when it returns, the former tally is no longer written.
 */
void router_tally_set(struct router *router, uint64_t sessions, struct router_tally *tally);

/* Called around one drain of the rings. The writers are woken in router_end(), and before when much is queued. */
void router_begin(struct router *router);
void router_end(struct router *router);

/*
 * One row, as the ring has it, with what follows it in its record; `size` is of both. Bits of sessions that are not attached are
 * ignored. Returns the bytes of the row. One that cannot be read is counted, and all of `size` is of it.
 */
size_t router_row(struct router *router, const struct iotr_record *record, size_t size);

struct router_counts {
	uint64_t rows;		/* seen */
	uint64_t malformed;	/* of a size or stream that cannot be; belong to no session */
	uint64_t names_missing; /* names or parents that stayed unknown: rows without a full path */
};

/* Any thread. */
void router_counts(const struct router *router, struct router_counts *counts);
