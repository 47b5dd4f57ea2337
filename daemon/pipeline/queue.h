/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounded queue of rows between one producer (the consumer thread of the rings, through the
 * router) and one consumer (a writer thread). The producer calls queue_push() and queue_wake(),
 * the consumer queue_front(), queue_pop() and queue_idle(); init and done are for neither.
 *
 * The memory is a ring of which pages are used as it fills. A consumer that has found the queue
 * empty hands it over with queue_idle(); the producer then begins at the start of the ring again,
 * so that a queue which stays nearly empty touches few pages, and gives back what a burst used.
 *
 * A consumer that is idle is woken through an eventfd, once per queue_wake() and not per row.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "row.h"
#include "shared.h"

enum {
	QUEUE_SIZE = 16 * 1024 * 1024,
	QUEUE_ENTRY_MAX = 128 * 1024, /* a row with two paths of the greatest length fits */
};

enum queue_state {
	QUEUE_RUNNING,
	QUEUE_IDLE,  /* the consumer waits, and has left its position to the producer */
	QUEUE_TAKEN, /* the producer has begun to fill it again */
};

struct queue_entry {
	uint32_t size; /* of the entry, a multiple of 8; 0: the next one is at the ring's start */
	uint16_t record_size; /* of the record that follows; the texts follow it */
	uint8_t quote;	      /* bit 0 of path, bit 1 of path2 */
	uint8_t name_lost;
	uint32_t path_length;
	uint32_t path2_length;
	const char *fs_type;
	_Alignas(8) char data[];
};

/* In the place of an entry: one that several queues share. */
struct queue_reference {
	uint32_t size;
	uint16_t record_size; /* 0: it is a reference */
	uint32_t line_length; /* of the row's line, which follows the shared entry */
	const struct queue_entry *entry;
	struct shared_block *block; /* where that lies */
};

struct queue {
	char *ring;
	size_t size; /* a power of two */
	int eventfd; /* not owned */
	/* The producer's. */
	_Alignas(64) _Atomic uint64_t head;
	uint64_t seen_tail;  /* the tail as last read */
	uint64_t woken_head; /* the head when it last woke the consumer */
	uint64_t highest;    /* bytes of the ring that were in use since it was trimmed */
	unsigned int calm;   /* fresh starts in a row that used little */
	struct shared_block *pushed_block; /* of the last reference; compared only */
	uint64_t blocks_held; /* blocks that were referred to, ever */
	uint64_t referred;    /* bytes of the entries that were referred to since it last woke the consumer */
	/* The consumer's, and the producer's when the state is not QUEUE_RUNNING. */
	_Alignas(64) _Atomic uint64_t tail;
	uint64_t available; /* bytes that are known to be filled */
	struct shared_block *block; /* of the last reference that was read: held until that of another one is */
	_Atomic uint64_t blocks_released;
	_Alignas(64) _Atomic int state;
};

/* `size` is rounded up to a power of two of at least 4 * QUEUE_ENTRY_MAX. `eventfd` is kept. */
int queue_init(struct queue *queue, size_t size, int eventfd);
void queue_done(struct queue *queue);

/*
 * False when it is full: the row is lost, and the caller counts it. Of a row that several queues share it takes a
 * reference; a copy when the blocks that it holds take twice as many bytes already as it has itself.
 */
bool queue_push(struct queue *queue, const struct row *row);

/* Whether the next row is sure to find room. */
bool queue_has_room(struct queue *queue);

/* Wakes the consumer, if it is idle, for what was pushed. */
void queue_wake(struct queue *queue);

/* Bytes pushed since the last queue_wake(), those of shared entries included. */
size_t queue_unannounced(const struct queue *queue);

/* The oldest entry as a row that points into the queue, or false when it is empty. */
bool queue_front(struct queue *queue, struct row *row);

/* Removes the oldest entry: call only after queue_front() returned it. */
void queue_pop(struct queue *queue);

/* For the consumer: bytes in the queue. */
size_t queue_waiting(const struct queue *queue);

/*
 * The consumer is about to wait for the eventfd. False: there are entries, do not wait. After
 * true it may wait and do other things, but queue_front() finds nothing until queue_wake().
 */
bool queue_idle(struct queue *queue);

/*
 * For code that keeps entries in memory of its own: the bytes of a row's entry, more than
 * QUEUE_ENTRY_MAX for a row that is refused.
 */
size_t queue_entry_size(const struct row *row);
void queue_entry_fill(struct queue_entry *entry, const struct row *row, size_t size);

/* The row points into the entry. */
void queue_entry_read(const struct queue_entry *entry, struct row *row);
