/* SPDX-License-Identifier: GPL-2.0-or-later */
/* manifest.json on the disk. Any thread, one at a time for each folder. */
#pragma once

#include <json-c/json.h>
#include <stddef.h>

#include "manifest_text.h"

struct trace;

/*
 * Loads the object in the file, and a reader of its segments, which is the caller's also on an error. Errors
 * are those of manifest_reader_init() and inside_open(); -EFBIG also for more than MANIFEST_MAX bytes.
 */
int manifest_file_load(int folder_fd, struct manifest_reader *reader, struct json_object **ret);

/*
 * Replaces the file atomically by the manifest with these segments; its own member "segments" is removed. The
 * trace is asked for room first, as both files exist for a moment; NULL: there is enough. 0, or a negative
 * errno, with the old file in place. `*size`: bytes of the new file; may be NULL.
 */
int manifest_file_replace(int folder_fd, struct trace *trace, struct json_object *manifest,
			  const struct manifest_segments *segments, size_t *size);

/* Forces the file, and the names that lead to it, to the disk. */
int manifest_file_sync(int folder_fd);

/* Removes the manifest of a session that is discarded. */
void manifest_file_remove(int folder_fd);
