/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots as JSON, in manifests and replies. Main thread. */
#pragma once

#include <json-c/json.h>

#include "snapshot/snapshot.h"

/* New array: an object for each file, or one without a path where there is none. */
struct json_object *snapshot_entries(enum snapshot_kind kind, const struct snapshot_state *state);

/* Copies the entries to the list; one of a path that is there already takes its place. */
void snapshot_entries_add(struct json_object *list, struct json_object *entries);

/* New object of the last entry of a kind, with its state; NULL when there is none. */
struct json_object *snapshot_last(struct json_object *list, enum snapshot_kind kind);

/* New objects. `state` NULL: it waits. */
struct json_object *snapshot_under_way(const struct snapshot_state *state);
struct json_object *snapshot_progress(enum snapshot_kind kind, const struct snapshot_state *state);

/* Removes the folders that snapshots are in, where they are empty. */
void snapshot_folders_remove(int output_fd);
