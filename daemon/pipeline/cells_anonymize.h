/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one place where rows of a session lose their names: between the cells and the format, so that
 * every format, and every live view, has the same. Which columns it concerns, their types in the
 * catalogue say. One object per writer thread.
 */
#pragma once

#include "anonymize.h"
#include "cells.h"

struct cells_anonymizer;

/* -ENOMEM */
int cells_anonymizer_new(const uint8_t key[IOTR_ANONYMIZE_KEY_SIZE], struct cells_anonymizer **ret);
void cells_anonymizer_free(struct cells_anonymizer *anonymizer); /* takes NULL */

/*
 * Replaces the texts of the row's cells, and takes the paths away from the row: they are in the clear.
 * Spans that have columns with names are filled, by `cells`, as it filled the row; others stay late.
 * The new texts are valid until the next call. Returns how many bytes they take; none is quoted.
 */
size_t cells_anonymize(struct cells_anonymizer *anonymizer, struct cells *cells, struct row *row,
		       struct cell *cell, size_t count);
