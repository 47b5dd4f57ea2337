/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The slots of sessions on the control page: each is one bit of a record's session mask. A session whose
 * filters change takes another slot, with the new filters, for operations that begin from then on; those that
 * began before end in the slot that was left, and are judged by its filters. That slot is given up when nothing
 * is in flight in it any more. This is checked when filters change, when the session ends, or when somebody
 * needs a slot and none is free: then the one that was left first is given up, and what is in flight in it is
 * counted as lost. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/consumer.h"
#include "probes/probes.h"
#include "session_spec.h"
#include "session/row_sink.h"

/* A slot, while a session has it. */
struct slot {
	int bit;
	struct probes_loss before[IOTR_STREAM_COUNT]; /* the slot's counts from before */
	uint64_t unfollowed_before;
};

/* The slots of one session. */
struct slot_owner {
	const char *name;	/* of the session, for the log */
	struct row_sink *sink;
	struct slot slot;	/* for operations that begin from now on */
	bool taken;		/* rows are routed from the slot, and its counts are the session's */
	struct probes_loss settled[IOTR_STREAM_COUNT]; /* sums over slots that it gave up */
	uint64_t unfollowed_settled;
};

/* One of all slots. */
struct slot_state {
	struct slot_owner *owner; /* NULL: free, or reserved */
	bool left;		  /* the owner has another one for operations that begin now */
	uint64_t number;	  /* order in which slots were left: the oldest has the smallest number */
	struct slot slot;	  /* as it was left */
};

struct slots {
	struct probes *probes;
	struct consumer *consumer;
	struct slot_state states[IOTR_SESSIONS_MAX]; /* index: bit */
	uint64_t reserved; /* bits of slots that belong to no session */
	uint64_t left;	   /* number of slots ever left */
};

/* Returns a free slot, which may cost one that was left. -ENOSPC. */
int slots_find(struct slots *slots);

/*
 * Reserves `count` free slots for another use than a session, such as a self-test; `bits` gets them. -ENOSPC: none is
 * reserved.
 */
int slots_reserve(struct slots *slots, unsigned int count, unsigned int *bits);
void slots_unreserve(struct slots *slots);

/* Gives up the slots left in which nothing is in flight any more. */
void slots_tidy(struct slots *slots);

/* The owner, which has none yet, has this free slot from now on, but takes no rows from it yet. */
void slot_own(struct slots *slots, struct slot_owner *owner, int bit);

/* Rows of the owner's slot go to its sink from now on. -errno. */
int slot_take(struct slots *slots, struct slot_owner *owner);

/*
 * Prepares another, free slot for the owner: rows go from it to the owner's sink, but the programs do not use it
 * yet. slot_change() follows, or slot_abandon(). -errno.
 */
int slot_prepare(struct slots *slots, const struct slot_owner *owner, int bit, struct slot *ret);
void slot_abandon(struct slots *slots, const struct slot *slot);

/* Moves the owner to the slot that was prepared: operations that begin from now on use it. */
void slot_change(struct slots *slots, struct slot_owner *owner, const struct slot *slot);

/*
 * The session ends: the programs emit nothing for it any more, and what they have emitted is in the queue of its
 * sink. The counts, and the slot itself, stay the owner's until slot_disown().
 */
void slot_close(struct slots *slots, struct slot_owner *owner);
void slot_disown(struct slots *slots, struct slot_owner *owner);

/*
 * Adds up what the kernel side has counted of a stream in all slots of the owner. `losses`: the stream's counts
 * of all slots, from probes_losses(); NULL: they are read.
 */
void slot_loss(const struct slots *slots, const struct slot_owner *owner, enum iotr_stream stream,
	       const struct probes_loss *losses, struct probes_loss *ret);

/* A bit for each of the owner's slots, those left included. */
uint64_t slot_mask(const struct slots *slots, const struct slot_owner *owner);

/* Number of processes that could not be followed because the map was full. */
uint64_t slot_unfollowed(const struct slots *slots, const struct slot_owner *owner);
