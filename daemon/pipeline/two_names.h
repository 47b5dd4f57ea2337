/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations on two names, as RENAME, which rows show as old -> new. Any thread. */
#pragma once

#include <stddef.h>

#include "names.h"
#include "row.h"

enum { TWO_NAMES_MAX = 2 * NAMES_PATH_MAX + 16 }; /* bytes of both and the arrow */

/* Whether the operation has two names. */
bool two_names(const struct iotr_record *record);

/* Writes at most TWO_NAMES_MAX bytes, without a NUL; a side that is unknown is "...". Returns how many; 0: both are unknown. */
size_t two_names_join(const struct row *row, char *text);
