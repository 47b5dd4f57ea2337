/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots as JSON, in manifests and replies. Main thread. */
#pragma once

#include <json-c/json.h>

#include "snapshot.h"

/* New array: an object for each file, or one without a path if no file was made. */
struct json_object *snapshot_entries(enum snapshot_kind kind, const struct snapshot_state *state);

/* Adds copies of the entries to the list; an entry replaces one with the same path. */
void snapshot_entries_add(struct json_object *list, struct json_object *entries);

/* New object from the last entry of a kind, with its state; NULL if there is none. */
struct json_object *snapshot_last(struct json_object *list, enum snapshot_kind kind);

/* New objects. `state` NULL: the snapshot waits for its turn. */
struct json_object *snapshot_now(const struct snapshot_state *state);
struct json_object *snapshot_progress(enum snapshot_kind kind, const struct snapshot_state *state);

/* Bytes that its files have on the disk. */
uint64_t snapshot_stored_bytes(const struct snapshot_state *state);
