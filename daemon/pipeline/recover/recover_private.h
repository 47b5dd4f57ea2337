/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sources of recover.h share: recover.c has the folder, recover_stream.c one stream of it, which is made of
 * recover_manifest.c, recover_files.c, and recover_segment.c.
 */
#pragma once

#include <json-c/json.h>

#include "json_add.h"
#include "json_read.h"
#include "manifest_text.h"
#include "recover.h"
#include "recover_segment.h"
#include "segment_mark.h"

/*
 * The place of a segment in the manifest's text: kept as objects, very many segments would take
 * forty times their text.
 */
struct recover_known {
	char *path; /* without .gz and .part */
	uint64_t from;
	size_t size;
};

struct recover_sums {
	uint64_t rows, bytes;  /* of the new list: rows of segments that exist, bytes of all */
	uint64_t listed_bytes; /* of the old list */
};

/* A folder that is being recovered. */
struct recovery {
	const struct recover_config *config;
	int folder_fd;
	struct json_object *manifest; /* as it was, then as it will be; without its segments */
	struct manifest_reader reader; /* reads the segments of the manifest */
	struct recover_known *known;   /* by path, those of a stream in the order of their numbers */
	size_t known_count;
	struct manifest_segments segments; /* new list */
	struct recover_sums sums;	   /* of the stream that is being recovered */
	char last_time[TRACE_TIME_SIZE]; /* of the last row; "" while there is none */
};

/* ---- recover_stream.c ---- */

/* Recovers the stream that the manifest describes so. A negative errno ends the recovery of the folder. */
int recover_stream(struct recovery *recovery, const char *flag, struct json_object *description);

/* ---- recover_cgroups.c ---- */

/* Makes what was last written of the table of cgroups whole, and adds it to the manifest. */
void recover_cgroups(struct recovery *recovery);

/* ---- recover_manifest.c ---- */

/*
 * Loads the manifest, or makes one. 1 when there is something to do, 0 when the session has ended.
 * Call recover_manifest_done() also after an error.
 */
int recover_manifest_begin(struct recovery *recovery);
void recover_manifest_done(struct recovery *recovery);

/* What the manifest said of the segment FOLDER/NAME: new object, or NULL. */
struct json_object *recover_manifest_find(struct recovery *recovery, const char *folder, const char *name);
struct json_object *recover_manifest_read(struct recovery *recovery, const struct recover_known *known);

/* Adds a segment of the stream to the new list. */
void recover_manifest_add(struct recovery *recovery, struct json_object *segment);

/* Sets the counts of the stream, whose segments have all been added, and resets the sums. */
void recover_manifest_count(struct recovery *recovery, struct json_object *description);

/* Writes the end and the gap into the manifest. */
void recover_manifest_end(struct recovery *recovery);

/* See recover_extent(). */
int recover_manifest_extent(int folder_fd, struct recover_extent *ret);

/* ---- recover_files.c ---- */

/* All files of one stream's segments, in the order of their numbers. */
struct recover_listing {
	struct recover_files *files; /* to be freed, as the marks of what was removed */
	size_t count, capacity;
	struct segment_mark *marks;
	size_t mark_count;
	unsigned int last; /* greatest number that the manifest lists */
};

/* Lists the files of the stream. A .gz that is half made is removed: it can be made again from the text file. */
int recover_list(const struct recover_stream *stream, struct recover_listing *ret);

/* The mark of a segment that was removed; NULL: it has none. */
const struct segment_mark *recover_find_mark(const struct recover_listing *listing, unsigned int number);

/* Removes the marks, of which the manifest has told. */
void recover_forget_marks(int folder_fd, const char *folder);

bool recover_is_listed(const struct recover_listing *listing, const char *name);

/*
 * The order of a stream's files, by name or by path: numbers are zero-padded; of two that differ in length, the
 * longer is the later.
 */
int recover_compare(const char *one, const char *other);
