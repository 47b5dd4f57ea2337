/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * anonymize: a trace that was taken in the clear, written anew as --anonymize would have written it.
 * Nothing in the folder is trusted. Memory is bounded. What fails is said on stderr where it fails,
 * and comes back as an exit code. One thread.
 */
#pragma once

#include <json-c/json.h>

#include "anonymize_manifest.h"
#include "schema.h"
#include "verify.h"

enum {
	ANONYMIZE_COLUMNS_MAX = 256,
	/* Bytes of a row's texts and of what holds them together. */
	ANONYMIZE_ROW_MAX = IOTR_ANONYMIZED_MAX(TRACE_ROW_MAX) + ANONYMIZE_COLUMNS_MAX * 160,
};

/* Rows of one stream, as text in one of the formats. */
struct anonymize_rows {
	struct iotr_anonymizer *anonymizer;
	enum verify_format format;
	const struct trace_columns *columns;
	enum iotr_privacy privacies[ANONYMIZE_COLUMNS_MAX];
	char *scratch; /* TRACE_ROW_MAX bytes */
};

/* Columns that are known, of a stream or of snapshots. */
struct anonymize_known {
	const struct iotr_column *columns;
	size_t count; /* 0: none */
};

/* What the columns of the segment's stream hold. False: one of them is not known, which has been said. */
bool anonymize_rows_init(struct anonymize_rows *rows, struct iotr_anonymizer *anonymizer,
			 const struct verify_segment *segment, const struct anonymize_known *known);

/*
 * Writes what the row becomes to `out`, which has room for ANONYMIZE_ROW_MAX bytes. The row has no line
 * end and is at most TRACE_ROW_MAX bytes. Returns the length, or -EBADMSG: it is none of the stream.
 */
ssize_t anonymize_row(const struct anonymize_rows *rows, const char *row, size_t length, char *out);

/* A file as it was written. */
struct anonymize_written {
	uint64_t rows;
	uint64_t bytes;	  /* of text, the header included */
	uint64_t header;  /* bytes of it */
	uint64_t stored;  /* on disk */
	char sha256[SHA256_HEX_SIZE]; /* of the text */
};

/* `file` of the stream's folder below one descriptor to the same below another. */
int anonymize_segment(struct iotr_anonymizer *anonymizer, const struct verify_segment *segment,
		      const struct anonymize_known *known, const char *file, int from_fd, int to_fd,
		      struct anonymize_written *written);

struct anonymize_totals {
	uint64_t segments, rows; /* of streams */
	uint64_t snapshots;	 /* files of them */
	uint64_t bytes, stored;
	struct json_object *left_out; /* files that were not taken over, as paths in the trace */
};

/* The snapshots of a trace; those that cannot be anonymised go from its manifest. */
int anonymize_snapshots(struct iotr_anonymizer *anonymizer, struct verify_trace *trace, int to_fd,
			struct anonymize_totals *totals);

/* All segments and snapshots of a trace that verify has found in order, and its manifest. */
int anonymize_trace(struct iotr_anonymizer *anonymizer, struct verify_trace *trace, int to_fd,
		    struct anonymize_totals *totals);

/* A folder within another, made where it is not there; -1, which has been said. */
int anonymize_folder(int parent_fd, const char *name);
