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
	/* Bytes that the new texts of a row take at most. */
	CELLS_ANONYMIZED_MAX = (int)IOTR_ANONYMIZED_PATH + IOTR_ANONYMIZED_MAX(IOTR_COMMAND_SIZE * 4) +
			       2 * IOTR_ANONYMIZED_MAX(ADDRESS_UNIX_MAX) + IOTR_ANONYMIZED_MAX(SOCKOPTS_TEXT_MAX),
};

struct cells_anonymizer;

/* 0 or -ENOMEM. */
int cells_anonymizer_new(const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], struct cells_anonymizer **ret);
void cells_anonymizer_free(struct cells_anonymizer *anonymizer); /* takes NULL */

/*
 * Replaces the names in the row's cells by hashes, and clears the paths of the row itself, which are not
 * hashed. Spans that have columns with names are filled, by `cells`, which filled the row; others stay
 * CELL_LATE. The new texts are valid until the next call. Returns how many bytes they take; none is quoted.
 */
size_t cells_anonymize(struct cells_anonymizer *anonymizer, struct cells *cells, struct row *row,
		       struct cell *cell, size_t count);
