/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace on disk, as its manifest describes it. One thread. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "manifest_text.h"
#include "segment_name.h"
#include "sha256_hex.h"
#include "trace_scan.h"
#include "xxh128_hex.h"

/* The member of `lost` that counts lost names, not rows. */
#define VERIFY_LOST_NAMES "names"

struct verify_stream {
	const char *flag;
	const char *folder;
	struct trace_columns columns;
	const char **names;
	char *header;
	struct json_object *lost_by; /* number of lost rows by the cause of their loss */
	struct json_object *object;  /* all that the manifest has of it */
	uint64_t emitted, written, removed, missed, unfollowed, forgotten;
	uint64_t lost;	/* rows lost for any cause */
	uint64_t lost_names; /* rows that are present but whose file name was lost */
	bool unknown;	/* a crash lost an unknown number of rows after the last one */
	uint64_t rows;	/* rows of the segments that are not removed, according to the manifest */
};

enum verify_state { VERIFY_OPEN, VERIFY_CLOSED, VERIFY_COMPRESSED, VERIFY_REMOVED };

struct verify_segment {
	struct verify_stream *stream;
	char name[SEGMENT_NAME_MAX]; /* file name in the stream's folder, without .gz and .part */
	char path[2 * SEGMENT_NAME_MAX]; /* the same with the stream's folder */
	enum iotr_format format;
	enum verify_state state;
	uint64_t rows, bytes;
	char xxh128[XXH128_HEX_SIZE]; /* of the text; "": missing in the manifest, as the next */
	char sha256[SHA256_HEX_SIZE]; /* of the text, in manifests of version 1 */
	char stored_sha256[SHA256_HEX_SIZE]; /* of the .gz */
	bool has_times;
	uint64_t first_ns, last_ns;
};

/* Strings are borrowed from `json`. */
struct verify_trace {
	int folder_fd; /* borrowed */
	struct json_object *json; /* the manifest without the elements of `segments`, of which there may be very many */
	struct manifest_reader reader; /* reads the elements of `segments` */
	bool running;
	struct verify_stream *streams;
	size_t stream_count;
	struct verify_segment *segments; /* sorted by path */
	size_t segment_count;
	uint64_t rows_read, bytes_read, stored_read; /* amount that was checked */
	uint64_t snapshots_read;		     /* number of files of snapshots */
};

/* Takes an all-zero trace, too. The folder stays open. */
void verify_trace_done(struct verify_trace *trace);

/* Finds the segment by the path of its file without .gz and .part. NULL: none. */
struct verify_segment *verify_find(const struct verify_trace *trace, const char *path);

/* Opens a folder within another one; a symbolic link is not followed. Returns a descriptor, or -1 with errno. */
int verify_open_folder(int parent_fd, const char *name);
