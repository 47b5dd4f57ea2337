/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of what is kept, to which closed segments are removed. A stream's `removed_by`, in its status and in the manifest,
 * has {rows, segments} of each limit that removed some. X(name, key, text): how users know it.
 */
#pragma once

#include <json-c/json.h>
#include <stdint.h>
#include <string.h>

#include "json_add.h"
#include "json_read.h"

#define IOTR_REMOVALS(X)                                                       \
	X(KEEP_SIZE, "keep_size", "--keep-size")                               \
	X(KEEP_SEGMENTS, "keep_segments", "--keep-segments")                   \
	X(MAX_USE, "max_use", "MaxUse= of all traces")                         \
	X(KEEP_FREE, "keep_free", "KeepFree= of the file system")              \
	/* No record of it is left: the machine failed, or an older daemon removed it. */ \
	X(UNRECORDED, "unrecorded", "a limit of which no record is left")

enum iotr_removal {
#define X(name, key, text) IOTR_REMOVAL_##name,
	IOTR_REMOVALS(X)
#undef X
	IOTR_REMOVAL_COUNT
};

static const char *const iotr_removal_keys[IOTR_REMOVAL_COUNT] __attribute__((unused)) = {
#define X(name, key, text) [IOTR_REMOVAL_##name] = key,
	IOTR_REMOVALS(X)
#undef X
};

static const char *const iotr_removal_texts[IOTR_REMOVAL_COUNT] __attribute__((unused)) = {
#define X(name, key, text) [IOTR_REMOVAL_##name] = text,
	IOTR_REMOVALS(X)
#undef X
};

/* The limit with this key; IOTR_REMOVAL_UNRECORDED: there is none. */
static inline enum iotr_removal iotr_removal_find(const char *key)
{
	unsigned int limit = 0;

	while (limit < IOTR_REMOVAL_UNRECORDED && strcmp(iotr_removal_keys[limit], key))
		limit++;
	return (enum iotr_removal)limit;
}

/* Adds what a limit removed to the `removed_by` of a stream. */
static inline void iotr_removal_add(struct json_object *stream, enum iotr_removal limit, uint64_t rows, uint64_t segments)
{
	struct json_object *by = member_of(stream, "removed_by"), *of;

	if (!segments)
		return;
	if (!json_object_is_type(by, json_type_object)) {
		by = json_object_new_object();
		json_object_object_add(stream, "removed_by", by);
	}
	of = member_of(by, iotr_removal_keys[limit]);
	if (!json_object_is_type(of, json_type_object)) {
		of = json_object_new_object();
		json_object_object_add(by, iotr_removal_keys[limit], of);
	}
	rows += number_of(of, "rows");
	segments += number_of(of, "segments");
	add_u64(of, "rows", rows);
	add_u64(of, "segments", segments);
}
