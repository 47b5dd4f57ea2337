/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reading end of a BPF ring buffer, mapped. One thread at a time. Reading goes up to what had
 * been written when it began, so that it ends however fast the kernel writes.
 *
 * The reader's position lies in memory that every program that writes a record reads: each store to it costs the
 * traced calls of all other CPUs a miss of their cache. So it is told to the kernel after many records, and what the
 * ring has room for meanwhile is less by 1/RING_UNTOLD_SHARE at most.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RING_UNTOLD_SHARE = 64, /* of the ring's size: bytes that may be read before the kernel is told so */
	RING_UNTOLD_MAX = 64 * 1024, /* the same in bytes, for large rings */
};

struct ring {
	unsigned long position; /* of the reader, in bytes ever read */
	unsigned long *consumed; /* the position that the kernel knows */
	unsigned long *produced;
	const unsigned char *data;
	size_t size;
};

/* Called for a record, whose bytes are valid until it returns. */
typedef int (*ring_handler)(void *userdata, const void *record, size_t size);

/* Maps the ring buffer of a map's descriptor; the size is asked of the kernel. */
int ring_open(struct ring *ring, int map);
void ring_close(struct ring *ring); /* takes one that is all zero */

/*
 * Hands over all records that are there. False when it stopped early, at a record still being
 * written; `count` grows by the records handed over.
 */
bool ring_read(struct ring *ring, ring_handler handler, void *userdata, size_t *count);

/*
 * Gives the room of all records that were handed over back to the kernel: for a handler that is about to wait. The
 * record in its hands stays valid.
 */
void ring_publish(struct ring *ring);
