/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sources of recover.h share. */
#pragma once

#include <json-c/json.h>

#include "recover.h"
#include "recover_segment.h"

/* A folder being set right. */
struct recovery {
	const struct recover_config *config;
	int folder_fd;
	struct json_object *manifest; /* as it was, then as it will be */
	struct json_object *known;    /* its segments by path */
	struct json_object *segments; /* new list */
	char last_time[TRACE_TIME_SIZE]; /* of the last row; "" while there is none */
};

/*
 * Loads the manifest, or makes one. 1 when there is something to do, 0 when the session has ended;
 * the objects of `recovery` are the caller's, also on an error.
 */
int recover_manifest_begin(struct recovery *recovery);

/* What the manifest said of the segment FOLDER/NAME, borrowed, or NULL. */
struct json_object *recover_manifest_find(const struct recovery *recovery, const char *folder,
					  const char *name);

/* Counts what there is, and tells of the end and of the gap. */
void recover_manifest_end(struct recovery *recovery);

/* See recover_extent(). */
int recover_manifest_extent(int folder_fd, struct recover_extent *ret);

/* Getters take any object, also NULL; NULL or 0 for what is not there. */
const char *recover_text(struct json_object *object, const char *key);
uint64_t recover_number(struct json_object *object, const char *key);
size_t recover_length(struct json_object *array);
void recover_set_u64(struct json_object *object, const char *key, uint64_t value);
void recover_set_text(struct json_object *object, const char *key, const char *value);
