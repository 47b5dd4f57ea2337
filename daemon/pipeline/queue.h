/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounded queue of rows between one producer (the consumer thread of the rings, through the
 * router) and one consumer (a writer thread). The producer calls queue_push() and queue_wake(),
 * the consumer queue_front(), queue_pop() and queue_idle(); init and done are for neither.
 *
 * The memory is a list of chunks: the producer fills the last, the consumer reads the first and
 * gives it back when it is read, to be filled again next. So a queue that stays nearly empty
 * touches few pages, which stay in the processor's cache, and one behind a disk that does not
 * answer grows as long as rows wait. What it has grown by is given back when it is empty.
 *
 * A consumer that is idle is woken through an eventfd, once per queue_wake() and not per row.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "row.h"
#include "session_spec.h"
#include "shared.h"

enum {
	QUEUE_SIZE = IOTR_QUEUE_SIZE_DEFAULT, /* bytes; at a million rows a second, the rows of half a second */
	QUEUE_SURE = 16 * 1024 * 1024,	/* of which a queue has this much whatever others take */
	QUEUES_MORE = 256 * 1024 * 1024, /* and all queues together have no more than this beyond it */
	QUEUE_CHUNK = 256 * 1024,
	QUEUE_ENTRY_MAX = 128 * 1024, /* a row with two paths of the greatest length fits */
};

struct queue_chunk {
	struct queue_chunk *next; /* that was filled after it, or the next spare one */
	_Alignas(8) char data[];
};

struct queue_entry {
	uint32_t size; /* of the entry, a multiple of 8; 0: the next one is in the next chunk */
	uint16_t record_size; /* of the record that follows; the texts follow it */
	uint8_t name_lost;
	uint32_t path_length;
	uint32_t path2_length;
	const char *fs_type;
	_Alignas(8) char data[];
};

/*
 * Rows of one stream in a block, their entries one behind the other, and so their lines, each with its newline. Several queues
 * refer to them.
 */
struct queue_run {
	struct shared_block *block;
	const struct queue_entry *first;
	const char *lines;
	uint32_t rows, names_lost; /* rows, and those of them that lack a name */
	uint32_t bytes, line_bytes; /* of the entries, and of the lines */
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC: the least and the greatest time at which a row began */
	uint64_t first_realtime_ns, last_realtime_ns;
};

/* In the place of an entry: rows that several queues share. */
struct queue_reference {
	uint32_t size;
	uint16_t record_size; /* 0: it is a reference */
	struct queue_run run;
};

struct queue {
	unsigned int sure, most; /* chunks that it may have whatever others take, and that it may have at all */
	int eventfd; /* not owned */
	/* The producer's. */
	_Alignas(64) _Atomic uint64_t head; /* bytes of all entries ever pushed */
	struct queue_chunk *filling;
	size_t filled;	     /* bytes of its data */
	uint64_t woken_head; /* the head when it last woke the consumer */
	struct shared_block *pushed_block; /* of the last reference; compared only */
	uint64_t blocks_held; /* blocks that were referred to, ever */
	uint64_t referred;    /* bytes of the entries that were referred to since it last woke the consumer */
	/* The consumer's. */
	_Alignas(64) _Atomic uint64_t tail; /* bytes of all entries ever popped */
	struct queue_chunk *reading;
	size_t read;	    /* bytes of its data */
	uint64_t available; /* bytes that are known to be pushed and not popped */
	size_t within, line_within; /* bytes of the run at the tail that were read: of entries, and of lines */
	struct shared_block *block; /* of the last reference that was read: held until that of another one is */
	_Atomic uint64_t blocks_released;
	/* Of both. */
	_Alignas(64) _Atomic bool idle; /* the consumer waits for the eventfd */
	pthread_mutex_t lock; /* of those below; taken once for a chunk, never for a row */
	struct queue_chunk *spare;
	unsigned int spares, chunks; /* spare ones, and all */
};

/* `size` is rounded up to whole chunks, at least two. `eventfd` is kept. Returns 0 or -ENOMEM. */
int queue_init(struct queue *queue, size_t size, int eventfd);
void queue_done(struct queue *queue);

/* False when it is full: the row is lost, and the caller counts it. */
bool queue_push(struct queue *queue, const struct row *row);

/*
 * Takes a reference to rows that several queues share; copies of them when the blocks that it holds take twice as many bytes
 * already as it has itself. Returns how many rows found room, which are the first ones, and in `*names_lost` how many of those
 * lack a name; the caller counts the others as lost.
 */
uint32_t queue_push_run(struct queue *queue, const struct queue_run *run, uint32_t *names_lost);

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

/* The run that the oldest row is the first of; NULL: it is not shared, was popped in part, or there is none. */
const struct queue_run *queue_front_run(struct queue *queue);

/* Removes it: call only after queue_front_run() returned it. */
void queue_pop_run(struct queue *queue);

/* Whether anything waits. Any thread. */
bool queue_waits(const struct queue *queue);

/* Whether so little waits that what has filled the queue is over. */
bool queue_is_drained(const struct queue *queue);

/* The consumer is about to wait for the eventfd. False: there are entries, do not wait. */
bool queue_idle(struct queue *queue);

/*
 * For code that keeps entries in memory of its own: the bytes of a row's entry, more than
 * QUEUE_ENTRY_MAX for a row that is refused.
 */
size_t queue_entry_size(const struct row *row);
void queue_entry_fill(struct queue_entry *entry, const struct row *row, size_t size);

/* The row points into the entry. */
void queue_entry_read(const struct queue_entry *entry, struct row *row);
