/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of one session as retention sees it: how many bytes its files take, and which closed
 * segments there are to compress or to remove. It outlives the writer. Any thread.
 *
 * A thread that makes a file of the folder grow asks with trace_take() first, so that rows never exceed
 * a limit; the oldest closed segments are removed to make room. Sizes are those `ls -l` shows.
 * Where no retention is wanted (tests), a NULL trace grants everything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "events.h"
#include "removal.h"
#include "sha256_hex.h"

struct trace;

/* What may be removed to make room. */
enum trace_room {
	TRACE_ROOM_OLDEST, /* closed segments, oldest first */
	TRACE_ROOM_NONE,
	TRACE_ROOM_ALWAYS, /* the same as the first, and where that is not enough, the bytes are granted all the same */
};

/*
 * Takes room for `bytes` before they are written. -EDQUOT: the session's own limit, -ENOSPC: the
 * machine's, and nothing (more) that can be removed. May remove files, and then waits for the disk.
 */
int trace_take(struct trace *trace, uint64_t bytes, enum trace_room room);

/* After trace_take(): `kept` of the bytes are in files, the others were not needed. */
void trace_settle(struct trace *trace, uint64_t taken, uint64_t kept);

/* So many bytes of files were removed. */
void trace_give(struct trace *trace, uint64_t bytes);

/*
 * Another process has made files of so many bytes in the folder, which stay as long as it does.
 * Room is made for them afterwards, in the background or by the next trace_take(). Does not wait.
 */
void trace_grown(struct trace *trace, uint64_t bytes);

/* The bytes that a segment of one stream may have, so that there is always something to remove. */
uint64_t trace_segment_limit(struct trace *trace);

/* The bytes that the table of cgroups may have, so that rows and manifest have room beside it. UINT64_MAX: any. */
uint64_t trace_table_limit(struct trace *trace);

/* A segment of the stream is about to be closed: removes what --keep-segments leaves no room for. */
void trace_closing(struct trace *trace, enum iotr_stream stream);

/* The segment is closed, as FOLDER/name. It may be compressed and removed from now on. */
void trace_closed(struct trace *trace, enum iotr_stream stream, unsigned int number, const char *name, uint64_t bytes,
		  uint64_t rows);

/* A closed segment that was compressed or removed. */
struct trace_change {
	enum iotr_stream stream;
	unsigned int number;
	bool removed;	 /* otherwise compressed: it is called NAME.gz */
	enum iotr_removal limit; /* to which it was removed */
	uint64_t stored; /* bytes on the disk */
	uint8_t stored_sha256[SHA256_DIGEST_SIZE]; /* of these bytes, when compressed */
};

/* Whether there are changes that trace_next_change() has not returned yet. */
bool trace_has_changes(const struct trace *trace);

/* How many removed segments of a stream the manifest lists one by one. */
unsigned int trace_removed_listed(struct trace *trace);

/* The next change. False: no more. For the writer until trace_ended(), then for the keeper. */
bool trace_next_change(struct trace *trace, struct trace_change *change);

/* The manifest is written, with all changes that trace_next_change() had returned before. Waits for the disk. */
void trace_told(struct trace *trace);

/* Wakes this eventfd when the trace has changes, until trace_ended(). */
void trace_notify(struct trace *trace, int eventfd);

/* The session has ended, and its manifest is written. */
void trace_ended(struct trace *trace);

struct trace_counts {
	uint64_t used;	  /* bytes in the folder */
	uint64_t waiting; /* closed segments that are still to be compressed */
};

void trace_counts(struct trace *trace, struct trace_counts *counts);

/* Removes all segments, for a session that is discarded. */
void trace_forget(struct trace *trace);

/* Drops the owner's reference; the trace lives as long as there is work with it. Takes NULL. */
void trace_free(struct trace *trace);
