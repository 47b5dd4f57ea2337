/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What rows are of, by name, for sums of them: the device of the file or request, the unit or the container. One thread. */
#pragma once

#include <stdbool.h>

#include "pipeline/row.h"
#include "session/groups.h"

enum row_name { ROW_NAME_DEVICE, ROW_NAME_UNIT, ROW_NAME_CONTAINER };

struct row_names;

/* `groups` may be NULL: then no cgroup is known. -ENOMEM. */
int row_names_new(enum row_name kind, struct groups *groups, struct row_names **ret);
void row_names_free(struct row_names *names); /* takes NULL */

/*
 * "vda1", or "0:45" for what is no block device; "nginx.service"; 64 hex digits. Escaped, valid as long as the names; length
 * 0: it has none, or none that is known. `names` is a struct row_names.
 */
struct row_text row_name(const struct row *row, void *names);

/* Whether a row of block is of a disk that is made of others. `names`: as above. */
bool row_stacked(const struct row *row, void *names);
