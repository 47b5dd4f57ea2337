/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writing end of a BPF ring buffer without BPF: a file in memory that lies out as the kernel
 * lays out the map, and that ring_open() takes for one. It is filled once; then laps of it are
 * published as fast as they are read. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct bench_ring {
	int fd;
	size_t size; /* of the data, a power of two */
	unsigned long *consumed;
	unsigned long *produced;
	unsigned char *data;
	size_t used;	   /* bytes of a lap that are filled */
	size_t record;	   /* bytes of a record with its header: all have the same in a ring of rows */
	uint64_t rows_lap; /* records of a lap */
};

/* Ends the program when that fails, as all here. */
void bench_ring_new(struct bench_ring *ring, size_t size);

/* Appends a record. NULL: the ring is full, and now complete. */
void *bench_ring_add(struct bench_ring *ring, size_t size);

/* Publishes all that was added, once. */
void bench_ring_publish(struct bench_ring *ring);

/*
 * Of a ring that is complete: publishes up to row `upto`, or to what there is room for. Returns how
 * many rows were ever published.
 */
uint64_t bench_ring_publish_rows(struct bench_ring *ring, uint64_t upto);
