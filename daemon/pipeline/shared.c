// SPDX-License-Identifier: GPL-2.0-or-later
#include "shared.h"

#include <pthread.h>
#include <stdlib.h>

#define FREE_MAX 128 /* blocks that nobody holds and that are kept: fresh memory costs more than what is in it */
#define CALM	 256 /* drains without an entry after which memory is given back */

/* Blocks of all, as a writer that hangs may give its own back at any time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shared_block *free_blocks;
static unsigned int free_count;

static struct shared_block *take_free(void)
{
	struct shared_block *block;

	pthread_mutex_lock(&lock);
	block = free_blocks;
	if (block) {
		free_blocks = block->next;
		free_count--;
	}
	pthread_mutex_unlock(&lock);
	return block;
}

/* False: enough are kept. */
static int keep_free(struct shared_block *block)
{
	int kept;

	pthread_mutex_lock(&lock);
	kept = free_count < FREE_MAX;
	if (kept) {
		block->next = free_blocks;
		free_blocks = block;
		free_count++;
	}
	pthread_mutex_unlock(&lock);
	return kept;
}

void shared_release(struct shared_block *block)
{
	if (block && atomic_fetch_sub_explicit(&block->holders, 1, memory_order_acq_rel) == 1 && !keep_free(block))
		free(block);
}

void *shared_reserve(struct shared *shared)
{
	struct shared_block *block = shared->block;

	shared->calm = 0;
	if (shared_goes_on(shared))
		return block->data + block->used;
	shared_release(block);
	block = shared->block = take_free() ?: malloc(SHARED_BLOCK);
	if (!block)
		return NULL;
	atomic_store_explicit(&block->holders, 1, memory_order_relaxed);
	block->used = block->lines = 0;
	return block->data;
}

void shared_add(struct shared *shared, size_t size, size_t line)
{
	shared->block->used += (uint32_t)size;
	shared->block->lines += (uint32_t)line;
}

static void give_back(struct shared *shared)
{
	struct shared_block *block;

	shared_release(shared->block);
	shared->block = NULL;
	while ((block = take_free()))
		free(block);
}

void shared_drained(struct shared *shared)
{
	if (shared->block && ++shared->calm >= CALM)
		give_back(shared);
}

void shared_done(struct shared *shared)
{
	give_back(shared);
}
