/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reading end of a BPF ring buffer, mapped. One thread at a time. Reading goes up to what had
 * been written when it began, so that it ends however fast the kernel writes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	unsigned long *consumed; /* position of the reader, in bytes ever read */
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
