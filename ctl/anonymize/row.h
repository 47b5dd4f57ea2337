/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Anonymises rows as text, in both formats. One thread per object. */
#pragma once

#include <sys/types.h>

#include "anonymize.h"
#include "schema.h"
#include "verify/trace.h"

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
	char *scratch; /* TRACE_ROW_MAX bytes; set and freed by the caller */
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
