/* SPDX-License-Identifier: GPL-2.0-or-later */
/* manifest.json on the disk. Any thread, one at a time for each folder. */
#pragma once

#include <json-c/json.h>
#include <stddef.h>

#define MANIFEST_NAME  "manifest.json"
#define MANIFEST_STYLE                                                                             \
	(JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

struct trace;

/*
 * Replaces the file by a whole one. The trace is asked for room first, as both are there for a
 * moment; NULL: there is enough. 0, or a negative errno, with the old one in place.
 */
int manifest_file_replace(int folder_fd, struct trace *trace, const char *text, size_t size);
int manifest_file_replace_json(int folder_fd, struct trace *trace, struct json_object *manifest);

/* Of a session that came to nothing. */
void manifest_file_remove(int folder_fd);
