/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * manifest.json of a session: what was recorded, how, and what was lost. Written to a file of
 * another name and renamed, so that a reader finds a whole one. Belongs to the writer thread once
 * it runs: the objects it was made from are copied.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "clocks.h"
#include "events.h"
#include "manifest_file.h"

#define MANIFEST_SCHEMA_VERSION 1

struct iotr_anonymizer;
struct sink;

struct manifest {
	int folder_fd; /* not owned */
	struct trace *trace;
	uint32_t streams;
	struct json_object *constant; /* what does not change: the frame of each manifest */
	struct clocks start;
	uint64_t written_ns; /* CLOCK_MONOTONIC; when it was last written, 0: never */
	size_t size;	     /* bytes that it then had */
	struct iotr_anonymizer *anonymizer; /* NULL: names stay in the clear */
	struct json_object *snapshots; /* array, NULL: none */
};

struct manifest_config {
	int folder_fd;
	struct trace *trace; /* asked for room; may be NULL */
	uint32_t streams;
	const char *session; /* this and the next may be NULL */
	const char *level;
	const char *format;
	struct json_object *definition; /* copied; may be NULL */
	struct json_object *hooks;
	uint32_t owner_uid;
	const uint8_t *anonymize_key; /* copied; NULL: names stay in the clear */
	struct clocks start;
};

/* What changes. The arrays are indexed by stream. */
struct manifest_stream {
	const struct sink *sink;
	uint64_t emitted, received, missed;
	uint64_t lost_ring, lost_queue, lost_disk, lost_unmatched;
};

struct manifest_state {
	const struct manifest_stream *streams;
	struct clocks clocks; /* as last measured */
	const char *reason;   /* why it ended; NULL: it runs */
	struct json_object *disk_errors; /* an array; not taken */
};

int manifest_init(struct manifest *manifest, const struct manifest_config *config);
void manifest_done(struct manifest *manifest); /* takes an all-zero one too */

/* Adds the definition, which it owns from now on, to the changes, with the time. -ENOMEM. */
int manifest_redefine(struct manifest *manifest, struct json_object *definition, const struct clocks *when);

/* Takes ownership. */
void manifest_set_snapshots(struct manifest *manifest, struct json_object *snapshots);

/* A time of CLOCK_MONOTONIC, as the timestamp column has it. */
void manifest_add_time(struct json_object *object, const char *key, uint64_t mono_ns,
		       const struct clocks *clocks);
int manifest_write(struct manifest *manifest, const struct manifest_state *state);

/*
 * When it may be written again: the larger it has become, the later, so that thousands of segments
 * do not make each rotation write them all. CLOCK_MONOTONIC.
 */
uint64_t manifest_next_ns(const struct manifest *manifest);

/* Removes the file. */
void manifest_remove(const struct manifest *manifest);
