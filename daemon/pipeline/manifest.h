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

#define MANIFEST_SCHEMA_VERSION 1
#define MANIFEST_NAME		"manifest.json"

struct sink;

struct manifest {
	int folder_fd; /* not owned */
	uint32_t streams;
	struct json_object *constant; /* what does not change: the frame of each manifest */
	struct clocks start;
	struct json_object *snapshots; /* array, NULL: none */
};

struct manifest_config {
	int folder_fd;
	uint32_t streams;
	const char *session; /* this and the next may be NULL */
	const char *level;
	struct json_object *definition; /* copied; may be NULL */
	struct json_object *hooks;
	uint32_t owner_uid;
	struct clocks start;
};

/* What changes. The arrays are indexed by stream. */
struct manifest_stream {
	const struct sink *sink;
	uint64_t emitted, received, missed, lost_ring, lost_queue, lost_unmatched;
};

struct manifest_state {
	const struct manifest_stream *streams;
	struct clocks clocks; /* as last measured */
	const char *reason;   /* why it ended; NULL: it runs */
};

int manifest_init(struct manifest *manifest, const struct manifest_config *config);
void manifest_done(struct manifest *manifest); /* takes an all-zero one too */

/* Takes ownership. */
void manifest_set_snapshots(struct manifest *manifest, struct json_object *snapshots);

int manifest_write(const struct manifest *manifest, const struct manifest_state *state);

/* The document as manifest.json, at once or not at all. Any thread that has the folder to itself. */
int manifest_replace(int folder_fd, struct json_object *object);

/* A time of CLOCK_MONOTONIC, as the timestamp column has it. */
void manifest_add_time(struct json_object *object, const char *key, uint64_t mono_ns,
		       const struct clocks *clocks);
