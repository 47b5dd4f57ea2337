/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verb verify: compares a trace on disk with its manifest. Nothing in the folder is trusted, neither the
 * manifest's values nor what its paths lead to. One thread.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "manifest_text.h"
#include "segment_name.h"
#include "sha256_hex.h"
#include "trace_read.h"

enum verify_weight {
	VERIFY_NOTE,   /* worth knowing */
	/* No row is known to be missing, but something that could be there is not: fails with --strict. */
	VERIFY_CAVEAT,
	VERIFY_LOSS,   /* rows are missing, and the manifest says so */
	VERIFY_WRONG,  /* the trace differs from its manifest */
	VERIFY_WEIGHTS,
};

/* Findings: printed as they are found, or collected for one JSON document. */
struct verify_report {
	struct json_object *lists[VERIFY_WEIGHTS]; /* with --json, otherwise NULL */
	uint64_t counts[VERIFY_WEIGHTS];
	bool strict;
	bool terminal; /* progress is shown on stderr */
	uint64_t bytes_total, bytes_done;
	const char *file; /* the file that is being read */
	struct timespec begin, shown;
};

void verify_report_init(struct verify_report *report, bool json, bool strict);
void verify_report_done(struct verify_report *report);

/* What an error of trace_file.h means for the file. */
const char *verify_file_error(int error);

/* Whether a finding of this weight means that the trace is not complete. */
bool verify_fails(const struct verify_report *report, enum verify_weight weight);

/* Adds a finding. `file` is a path within the folder. */
void verify_say(struct verify_report *report, enum verify_weight weight, const char *file,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Adds to the number of bytes of text that have been read. */
void verify_progress(struct verify_report *report, uint64_t bytes);
void verify_progress_end(struct verify_report *report);
double verify_seconds(const struct verify_report *report);

/* The member of `lost` that counts lost names, not rows. */
#define VERIFY_LOST_NAMES "names"

enum verify_state { VERIFY_OPEN, VERIFY_CLOSED, VERIFY_COMPRESSED, VERIFY_REMOVED };

struct verify_stream {
	const char *flag;
	const char *folder;
	struct trace_columns columns;
	const char **names;
	char *header;
	bool described; /* its columns are known */
	struct json_object *lost_by; /* number of lost rows by the cause of their loss */
	uint64_t emitted, written, removed, missed, unfollowed;
	uint64_t lost;	/* rows lost for any cause */
	uint64_t lost_names; /* rows that are present but whose file name was lost */
	bool unknown;	/* a crash lost an unknown number of rows after the last one */
	uint64_t rows;	/* rows of the segments that are not removed, according to the manifest */
};

struct verify_segment {
	struct verify_stream *stream;
	char name[SEGMENT_NAME_MAX]; /* file name in the stream's folder, without .gz and .part */
	char path[2 * SEGMENT_NAME_MAX]; /* the same with the stream's folder */
	enum iotr_format format;
	enum verify_state state;
	uint64_t rows, bytes;
	char sha256[SHA256_HEX_SIZE]; /* "": missing in the manifest */
	bool has_times;
	uint64_t first_ns, last_ns;
};

/* The manifest; its strings are borrowed from `json`. */
struct verify_trace {
	int folder_fd;
	struct json_object *json; /* without the elements of `segments`, of which there may be very many */
	struct manifest_reader reader; /* reads the elements of `segments` */
	bool running;
	struct verify_stream *streams;
	size_t stream_count;
	struct verify_segment *segments; /* sorted by path */
	size_t segment_count;
	uint64_t rows_read, bytes_read, stored_read; /* amount that was checked */
	uint64_t snapshots_read;		     /* number of files of snapshots */
};

/* Opens the folder of a trace. Returns -1 on an error, which has been printed. */
int verify_open(const char *path);

/* Loads the manifest, with a reader for its segments. An error has been printed. */
int verify_load(struct verify_trace *trace, struct verify_report *report);

/* Parses the manifest. Returns false if it cannot be understood, which has been reported. */
bool verify_manifest_read(struct verify_trace *trace, struct verify_report *report);
void verify_trace_done(struct verify_trace *trace);

/* The member if it is a string, otherwise NULL. */
const char *verify_text(struct json_object *object, const char *key);

/* Checks everything that the manifest describes: the next three. */
void verify_contents(struct verify_trace *trace, struct verify_report *report);

/* Checks the sums and reports the losses of the manifest. */
void verify_counts(struct verify_trace *trace, struct verify_report *report);

/* Checks the file of one segment. */
void verify_segment(struct verify_trace *trace, struct verify_segment *segment,
		    struct verify_report *report);

/* Finds its file name: the segment's, or that with .gz or .part. False: there is no such file. */
bool verify_segment_file(int folder_fd, const struct verify_segment *segment, char file[SEGMENT_FILE_MAX]);

/*
 * Snapshots: verify_snapshots() checks their files; the others return the bytes of their text according to the
 * manifest, whether the manifest contains the path, and whether the folder is one of snapshots.
 */
void verify_snapshots(struct verify_trace *trace, struct verify_report *report);
uint64_t verify_snapshots_bytes(const struct verify_trace *trace);
bool verify_knows_snapshot(const struct verify_trace *trace, const char *path);
bool verify_is_snapshot_folder(const char *name);

/* Reports files that the manifest does not contain. */
void verify_folder(struct verify_trace *trace, struct verify_report *report);

/* Finds the segment by the path of its file without .gz and .part. NULL: none. */
struct verify_segment *verify_find(struct verify_trace *trace, const char *path);
