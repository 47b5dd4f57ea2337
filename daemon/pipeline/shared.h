/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows that several sessions want, in memory once: blocks of entries and of their lines that queues refer to. The consumer
 * thread adds entries; each queue holds the blocks that it refers to, and the last holder gives a block back. Entries and
 * lines do not change once they were added. Lines lie one behind the other, so that many are copied at once.
 *
 * Threads: a struct shared belongs to the consumer thread; shared_hold() and shared_release() are for any thread that
 * holds the block already.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SHARED_BLOCK = 256 * 1024, /* bytes, with a head of less than 64 */
	SHARED_LINES = 144 * 1024, /* where lines begin in its data: an entry of vfs takes a third more than its line */
	SHARED_ENTRY_MAX = 16 * 1024, /* what has a longer entry, or a longer line, is copied for each session */
};

struct shared_block {
	_Atomic unsigned int holders;
	uint32_t used, lines; /* bytes of entries and of lines; the consumer thread's */
	struct shared_block *next; /* of those that nobody holds */
	_Alignas(8) char data[];
};

/* All zero: it has nothing yet. */
struct shared {
	struct shared_block *block; /* which it holds, and that is being filled; NULL: none */
	unsigned int calm; /* drains in a row without an entry */
};

/*
 * Room for an entry, and after that shared_line() for its line, of at most SHARED_ENTRY_MAX bytes each, in shared->block;
 * NULL: there is no memory. What is used of it is said by shared_add().
 */
void *shared_reserve(struct shared *shared);

static inline char *shared_line(const struct shared *shared)
{
	return shared->block->data + SHARED_LINES + shared->block->lines;
}

/* Whether the next entry is in the same block as the last. */
static inline bool shared_goes_on(const struct shared *shared)
{
	const struct shared_block *block = shared->block;

	return block && block->used + SHARED_ENTRY_MAX <= SHARED_LINES &&
	       sizeof(*block) + SHARED_LINES + block->lines + SHARED_ENTRY_MAX <= SHARED_BLOCK;
}

void shared_add(struct shared *shared, size_t size, size_t line); /* `size`: a multiple of 8 */

/* Called once for each drain: gives memory back that has not been needed for a while. */
void shared_drained(struct shared *shared);
void shared_done(struct shared *shared);

static inline void shared_hold(struct shared_block *block)
{
	atomic_fetch_add_explicit(&block->holders, 1, memory_order_relaxed);
}

void shared_release(struct shared_block *block); /* takes NULL */
