// SPDX-License-Identifier: GPL-2.0-or-later
#include "describe.h"

#include <string.h>

#include "json_add.h"
#include "pipeline/clocks.h"

/* An empty text becomes null. */
static void add_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, *text ? json_object_new_string(text) : NULL);
}

/* In the format of the timestamp columns; 0 means unknown. */
static void add_time(struct json_object *object, const char *key, uint64_t ns)
{
	char text[CLOCKS_TEXT_MAX] = "";

	add_text(object, key, ns ? clocks_format(text, ns) : text);
}

static struct json_object *entry_new(enum snapshot_kind kind, const struct snapshot_state *state)
{
	struct json_object *entry = json_object_new_object();

	add_string(entry, "kind", snapshot_kind_name(kind));
	add_time(entry, "started", state->started_ns);
	add_time(entry, "ended", state->ended_ns);
	add_flag(entry, "complete", !state->error && !state->skipped);
	add_u64(entry, "skipped", state->skipped);
	if (*state->message)
		add_string(entry, "message", state->message);
	return entry;
}

static void add_file(struct json_object *entry, enum snapshot_kind kind,
		     const struct snapshot_file *file)
{
	add_text(entry, "path", file->path);
	if (kind != SNAPSHOT_SYSTEM)
		add_u64(entry, "rows", file->rows);
	add_u64(entry, "bytes", file->bytes);
	add_u64(entry, "stored_bytes", file->stored_bytes);
	add_text(entry, "sha256", file->sha256);
}

struct json_object *snapshot_entries(enum snapshot_kind kind, const struct snapshot_state *state)
{
	struct json_object *entries = json_object_new_array(), *entry;

	for (uint32_t i = 0; i < state->file_count && i < SNAPSHOT_FILES_MAX; i++) {
		entry = entry_new(kind, state);
		add_file(entry, kind, &state->files[i]);
		json_object_array_add(entries, entry);
	}
	if (!state->file_count) {
		entry = entry_new(kind, state);
		json_object_object_add(entry, "path", NULL);
		json_object_array_add(entries, entry);
	}
	return entries;
}

static const char *path_of(struct json_object *entry)
{
	return json_object_get_string(json_object_object_get(entry, "path"));
}

static void add_entry(struct json_object *list, struct json_object *entry)
{
	const char *path = path_of(entry);

	for (size_t i = 0; path && i < json_object_array_length(list); i++) {
		const char *other = path_of(json_object_array_get_idx(list, i));

		if (other && !strcmp(other, path)) {
			json_object_array_put_idx(list, i, entry);
			return;
		}
	}
	json_object_array_add(list, entry);
}

void snapshot_entries_add(struct json_object *list, struct json_object *entries)
{
	for (size_t i = 0; i < json_object_array_length(entries); i++) {
		struct json_object *copy = NULL;

		if (json_object_deep_copy(json_object_array_get_idx(entries, i), &copy, NULL) >= 0)
			add_entry(list, copy);
	}
}

struct json_object *snapshot_last(struct json_object *list, enum snapshot_kind kind)
{
	struct json_object *copy = NULL;

	for (size_t i = json_object_array_length(list); i--;) {
		struct json_object *entry = json_object_array_get_idx(list, i);

		if (strcmp(json_object_get_string(json_object_object_get(entry, "kind")),
			   snapshot_kind_name(kind)))
			continue;
		if (json_object_deep_copy(entry, &copy, NULL) < 0)
			return NULL;
		add_string(copy, "state", path_of(entry) ? "done" : "failed");
		return copy;
	}
	return NULL;
}

struct json_object *snapshot_now(const struct snapshot_state *state)
{
	struct json_object *object = json_object_new_object();

	add_string(object, "state", state ? "running" : "waiting");
	add_u64(object, "rows", state ? state->rows : 0);
	return object;
}

struct json_object *snapshot_progress(enum snapshot_kind kind, const struct snapshot_state *state)
{
	struct json_object *object = json_object_new_object();

	add_string(object, "kind", snapshot_kind_name(kind));
	add_u64(object, "rows", state->rows);
	add_u64(object, "skipped", state->skipped);
	return object;
}

uint64_t snapshot_stored_bytes(const struct snapshot_state *state)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < state->file_count && i < SNAPSHOT_FILES_MAX; i++)
		bytes += state->files[i].stored_bytes;
	return bytes;
}
