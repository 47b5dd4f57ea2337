/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a trace's snapshots. */
#pragma once

#include "verify/report.h"
#include "verify/trace.h"

/* Checks the files, and adds to what was read of the trace. */
void verify_snapshots(struct verify_trace *trace, struct verify_report *report);

/* Bytes of their text, according to the manifest. */
uint64_t verify_snapshots_bytes(const struct verify_trace *trace);

/* The paths that the manifest contains, sorted; borrowed from it, but for the list, which is to be freed. NULL: out of memory. */
const char **verify_snapshots_paths(const struct verify_trace *trace, size_t *count);

/* Whether the path is one of them. */
bool verify_knows_snapshot(const char *const *paths, size_t count, const char *path);

/* Whether that is the name of a folder of snapshots. */
bool verify_is_snapshot_folder(const char *name);
