/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "anonymize/row.h"

/* Measures of a file that was written. */
struct anonymize_written {
	uint64_t rows;
	uint64_t bytes;	  /* size of the text with the header */
	uint64_t header;  /* size of the header in bytes */
	uint64_t stored;  /* size on disk in bytes */
	char xxh128[XXH128_HEX_SIZE]; /* of the text, as segments have it */
	char sha256[SHA256_HEX_SIZE]; /* of the text, as snapshots have it */
	char stored_sha256[SHA256_HEX_SIZE]; /* of the file, if it is gzip; otherwise "" */
};

/*
 * Rewrites `file`, unless interrupt_came(), in the folder `from_fd`, line by line, to the same name in the folder `to_fd`. Returns the exit
 * code after printing an error.
 */
int anonymize_segment(struct iotr_anonymizer *anonymizer, const struct verify_segment *segment,
		      const struct anonymize_known *known, const char *file, int from_fd, int to_fd,
		      struct anonymize_written *written);
