/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verb anonymize: rewrites a trace that was recorded in the clear as --anonymize would have written it.
 * Nothing in the folder is trusted. Memory is bounded. Errors are printed on stderr where they occur, and
 * returned as an exit code. One thread.
 */
#pragma once

#include <json-c/json.h>

#include "anonymize_manifest.h"
#include "schema.h"
#include "verify.h"

enum {
	ANONYMIZE_COLUMNS_MAX = 256,
	/* Largest anonymised row in bytes: all its texts, and what separates them. */
	ANONYMIZE_ROW_MAX = IOTR_ANONYMIZED_MAX(TRACE_ROW_MAX) + ANONYMIZE_COLUMNS_MAX * 160,
};

/* How to anonymise rows of one stream in one text format. */
struct anonymize_rows {
	struct iotr_anonymizer *anonymizer;
	enum iotr_format format;
	const struct trace_columns *columns;
	enum iotr_privacy privacies[ANONYMIZE_COLUMNS_MAX];
	char *scratch; /* TRACE_ROW_MAX bytes */
};

/* The known columns of a stream or of a table of snapshots. */
struct anonymize_known {
	const struct iotr_column *columns;
	size_t count; /* 0: none */
};

/*
 * Prepares for the columns of the segment's stream. Returns false if one of them is not known; the error has
 * been printed.
 */
bool anonymize_rows_init(struct anonymize_rows *rows, struct iotr_anonymizer *anonymizer,
			 const struct verify_segment *segment, const struct anonymize_known *known);

/*
 * Writes the anonymised row to `out`, which must have room for ANONYMIZE_ROW_MAX bytes. The row has no line
 * end and at most TRACE_ROW_MAX bytes. Returns the length, or -EBADMSG if it is not a row of the stream.
 */
ssize_t anonymize_row(const struct anonymize_rows *rows, const char *row, size_t length, char *out);

/* Measures of a file that was written. */
struct anonymize_written {
	uint64_t rows;
	uint64_t bytes;	  /* size of the text with the header */
	uint64_t header;  /* size of the header in bytes */
	uint64_t stored;  /* size on disk in bytes */
	char sha256[SHA256_HEX_SIZE]; /* SHA-256 of the text */
};

/* Rewrites `file`, which is in the stream's folder below `from_fd`, to the same folder below `to_fd`. */
int anonymize_segment(struct iotr_anonymizer *anonymizer, const struct verify_segment *segment,
		      const struct anonymize_known *known, const char *file, int from_fd, int to_fd,
		      struct anonymize_written *written);

struct anonymize_totals {
	uint64_t segments, rows; /* of the streams */
	uint64_t snapshots;	 /* number of files of snapshots */
	uint64_t bytes, stored;
	struct json_object *left_out; /* files that were not copied, as paths in the trace */
};

/* Rewrites the snapshots of a trace; those that cannot be anonymised are removed from its manifest. */
int anonymize_snapshots(struct iotr_anonymizer *anonymizer, struct verify_trace *trace, int to_fd,
			struct anonymize_totals *totals);

/* Rewrites all segments and snapshots of a trace that verify found to be correct, and its manifest. */
int anonymize_trace(struct iotr_anonymizer *anonymizer, struct verify_trace *trace, int to_fd,
		    struct anonymize_totals *totals);

/*
 * Opens a folder within another one, after making it if it does not exist. Returns -1 on an error, which has
 * been printed.
 */
int anonymize_folder(int parent_fd, const char *name);
