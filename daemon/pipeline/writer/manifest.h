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
#include "storage/manifest_file.h"

struct iotr_anonymizer;
struct sink;

struct manifest {
	int folder_fd; /* not owned */
	struct trace *trace;
	uint32_t streams;
	struct json_object *constant; /* members that do not change, of every manifest */
	struct clocks start;
	uint64_t written_ns; /* CLOCK_MONOTONIC; when it was last written, 0: never */
	size_t size;	     /* its bytes then */
	struct iotr_anonymizer *anonymizer; /* NULL: names stay in the clear */
	struct json_object *snapshots; /* array, NULL: none */
	struct json_object *cgroups;   /* the entry of their table, which is listed with the snapshots; NULL: none */
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

/* The members that change. The arrays are indexed by stream. */
struct manifest_stream {
	const struct sink *sink;
	uint64_t emitted, received, missed, unfollowed, forgotten;
	const uint64_t *lost; /* rows, by enum loss_cause */
	uint64_t lost_names; /* rows that lack a name, which are no lost rows: see struct row */
};

struct manifest_state {
	const struct manifest_stream *streams;
	struct clocks clocks; /* as last measured */
	const char *reason;   /* why it ended; NULL: it runs */
	struct json_object *disk_errors; /* an array; borrowed, as the next */
	struct json_object *losses;	 /* of losses_describe(); NULL: none */
};

int manifest_init(struct manifest *manifest, const struct manifest_config *config);
void manifest_done(struct manifest *manifest); /* takes an all-zero one too */

/* Adds the definition, of which it takes ownership, and the time to the list of changes. -ENOMEM. */
int manifest_redefine(struct manifest *manifest, struct json_object *definition, const struct clocks *when);

/* Sets a member that nothing else sets. Takes ownership of the value; so do the next two functions. */
void manifest_set(struct manifest *manifest, const char *key, struct json_object *value);

void manifest_set_snapshots(struct manifest *manifest, struct json_object *snapshots);

/* Sets the entry of the table of cgroups, which is listed behind the snapshots. */
void manifest_set_cgroups(struct manifest *manifest, struct json_object *cgroups);

/* Adds a time of CLOCK_MONOTONIC, as the timestamp column has it. */
void manifest_add_time(struct json_object *object, const char *key, uint64_t mono_ns,
		       const struct clocks *clocks);
int manifest_write(struct manifest *manifest, const struct manifest_state *state);

/* Forces the file, and the folder's name, to the disk. */
int manifest_sync(const struct manifest *manifest);

/*
 * When it may be written again, CLOCK_MONOTONIC: the larger it has become, the later, so that with
 * thousands of segments not each rotation writes all of it.
 */
uint64_t manifest_next_ns(const struct manifest *manifest);

/* Removes the file. */
void manifest_remove(const struct manifest *manifest);
