/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flight recorder: the last rows of a session, in memory alone, as the router hands them out:
 * records and texts, not yet formatted. They lie in chunks; when the memory is full, the oldest
 * chunk is overwritten.
 *
 * A view holds on to chunks: what it shows stays as it is while rows go on coming, and the recorder
 * takes fresh memory in place of a chunk that a view holds. So recorder and view together use at
 * most twice the recorder's size, and a view gives its chunks back as they have been read.
 *
 * Threads: recorder_row() is for the consumer thread, a view for one thread of any kind, which may
 * outlive the recorder; all other functions may be called by any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"
#include "row.h"

enum {
	RECORDER_CHUNK = 256 * 1024, /* bytes, of which a head of less than 256 is not rows */
};

struct recorder;

/* `size` is in bytes, at least four chunks, and rounded down to whole ones. */
int recorder_new(size_t size, uint32_t streams, struct recorder **ret);
void recorder_free(struct recorder *recorder); /* takes NULL */

void recorder_row(struct recorder *recorder, const struct row *row);

/* Rows of a stream: received = kept + overwritten + lost. */
struct recorder_counts {
	uint64_t received;
	uint64_t kept;
	uint64_t overwritten;
	uint64_t lost; /* because there was no memory */
	uint64_t lost_names; /* rows that were kept, but lack a name */
	uint64_t bytes; /* that rows took, lost ones excluded */
};

void recorder_counts(struct recorder *recorder, enum iotr_stream stream,
		     struct recorder_counts *counts);

struct recorder_memory {
	uint64_t size;	     /* bytes, at most */
	uint64_t used;	     /* bytes that rows take */
	uint64_t reaches_ns; /* CLOCK_MONOTONIC: every row that ended since is there */
	bool overwritten;    /* rows that ended before have been there, too, and were overwritten */
};

void recorder_memory(struct recorder *recorder, struct recorder_memory *memory);

/* When the operation of a row ended, CLOCK_MONOTONIC. */
uint64_t recorder_end_ns(const struct iotr_record *record);

/* Rows that are there now, in the order in which they came. */
struct recorder_view;

/* A view of the rows whose operations ended at `since_ns` (CLOCK_MONOTONIC) or later. */
int recorder_view_new(struct recorder *recorder, uint64_t since_ns, struct recorder_view **ret);

/* The next row, valid until the next call; false: there are no more. */
bool recorder_view_next(struct recorder_view *view, struct row *row);
void recorder_view_free(struct recorder_view *view); /* takes NULL */
