/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one place where names in a session's rows are replaced by hashes: between the cells and the
 * format, so that every format, and every live view, has the same. The types of the columns in the
 * catalogue say which of them hold names. One object per writer thread.
 */
#pragma once

#include "addresses.h"
#include "anonymize.h"
#include "cells.h"
#include "sockopts.h"

enum {
	/* Bytes that the new texts of a row take at most: without its path, and with the longest. */
	CELLS_ANONYMIZED_FIXED = IOTR_ANONYMIZED_MAX(IOTR_COMMAND_SIZE * 4) +
				 2 * IOTR_ANONYMIZED_MAX(ADDRESS_UNIX_MAX) + IOTR_ANONYMIZED_MAX(SOCKOPTS_TEXT_MAX),
	CELLS_ANONYMIZED_MAX = CELLS_ANONYMIZED_FIXED + (int)IOTR_ANONYMIZED_PATH,
};

struct cells_anonymizer;

/* 0 or -ENOMEM. */
int cells_anonymizer_new(const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], struct cells_anonymizer **ret);
void cells_anonymizer_free(struct cells_anonymizer *anonymizer); /* takes NULL */

/* Bytes that the new texts of this row take at most. */
size_t cells_anonymized_bound(const struct row *row);

/*
 * Replaces the names in the cells of a row by hashes. The new texts are valid until the next call.
 */
void cells_anonymize(struct cells_anonymizer *anonymizer, enum iotr_stream stream, struct cell *cell, size_t count);

/* The same for the cell of one column, whatever it holds. */
struct cell cells_anonymize_one(struct cells_anonymizer *anonymizer, enum iotr_stream stream, size_t column,
				struct cell cell);
