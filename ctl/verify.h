/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify: a trace on disk against its manifest. Nothing in the folder is trusted: not the
 * manifest's values, nor what its paths lead to. One thread.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "trace_read.h"

enum verify_weight {
	VERIFY_NOTE,  /* worth to know */
	VERIFY_LOSS,  /* rows are missing, and the manifest says so: a problem of --strict */
	VERIFY_WRONG, /* not what the manifest says */
	VERIFY_WEIGHTS,
};

/* What was found, told as it is found, or kept for one JSON document. */
struct verify_report {
	struct json_object *lists[VERIFY_WEIGHTS]; /* with --json, else NULL */
	uint64_t counts[VERIFY_WEIGHTS];
	bool strict;
	bool terminal; /* progress is shown on stderr */
	uint64_t bytes_total, bytes_done;
	const char *file; /* that is read now */
	struct timespec begin, shown;
};

void verify_report_init(struct verify_report *report, bool json, bool strict);
void verify_report_done(struct verify_report *report);

/* What an error of trace_file.h says of the file. */
const char *verify_file_error(int error);

/* `file` is a path within the folder. */
void verify_say(struct verify_report *report, enum verify_weight weight, const char *file,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* So many bytes more of text have been read. */
void verify_progress(struct verify_report *report, uint64_t bytes);
void verify_progress_end(struct verify_report *report);
double verify_seconds(const struct verify_report *report);

enum verify_state { VERIFY_OPEN, VERIFY_CLOSED, VERIFY_COMPRESSED, VERIFY_REMOVED };

struct verify_stream {
	const char *flag;
	const char *folder;
	struct trace_columns columns;
	const char **names;
	char *header;
	bool described; /* columns are known */
	uint64_t emitted, written, lost, removed, missed;
	bool unknown;	/* a crash took what was emitted after the last row */
	uint64_t rows;	/* of its segments that are not removed, by the manifest */
};

struct verify_segment {
	struct verify_stream *stream;
	char name[128]; /* within the stream's folder, without .gz and .part */
	char path[256]; /* the same with the folder */
	enum verify_format { VERIFY_CSV, VERIFY_JSONL } format;
	enum verify_state state;
	uint64_t rows, bytes;
	const char *sha256; /* NULL: the manifest has none */
	bool has_times;
	uint64_t first_ns, last_ns;
};

/* The manifest; strings are borrowed from `json`. */
struct verify_trace {
	int folder_fd;
	struct json_object *json;
	bool running;
	struct verify_stream *streams;
	size_t stream_count;
	struct verify_segment *segments; /* sorted by path */
	size_t segment_count;
	uint64_t rows_read, bytes_read, stored_read; /* what was checked */
	uint64_t snapshots_read;		     /* files of them */
};

/* The folder of a trace; -1, which has been said. */
int verify_open(const char *path);

/* Reads the manifest; false when there is none that can be understood, which has been said. */
bool verify_manifest_read(struct verify_trace *trace, struct verify_report *report);
void verify_trace_done(struct verify_trace *trace);

/* What is a text, else NULL. */
const char *verify_text(struct json_object *object, const char *key);

/* All that the manifest tells of: the next three. */
void verify_contents(struct verify_trace *trace, struct verify_report *report);

/* Sums and losses of the manifest. */
void verify_counts(struct verify_trace *trace, struct verify_report *report);

/* The file of one segment. */
void verify_segment(struct verify_trace *trace, struct verify_segment *segment,
		    struct verify_report *report);

/* Its name: that of the segment, or that with .gz or .part. False: it is not there. */
bool verify_segment_file(int folder_fd, const struct verify_segment *segment, char *file, size_t size);

/* Files of snapshots; bytes of their text by the manifest; whether one is told of, and whether a folder is of them. */
void verify_snapshots(struct verify_trace *trace, struct verify_report *report);
uint64_t verify_snapshots_bytes(const struct verify_trace *trace);
bool verify_knows_snapshot(const struct verify_trace *trace, const char *path);
bool verify_is_snapshot_folder(const char *name);

/* Files that the manifest does not know. */
void verify_folder(struct verify_trace *trace, struct verify_report *report);

/* The segment whose file this is: its path without .gz and .part. NULL: none. */
struct verify_segment *verify_find(struct verify_trace *trace, const char *path);

/* Takes .part and .gz off a name; which there were. */
struct verify_endings {
	bool part, gz;
} verify_strip(char *name);
