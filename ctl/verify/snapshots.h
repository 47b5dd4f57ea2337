/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a trace's snapshots. */
#pragma once

#include "verify/report.h"
#include "verify/trace.h"

/* Checks the files, and adds to what was read of the trace. */
void verify_snapshots(struct verify_trace *trace, struct verify_report *report);

/* Bytes of their text, according to the manifest. */
uint64_t verify_snapshots_bytes(const struct verify_trace *trace);

/* Whether the manifest contains the path. */
bool verify_knows_snapshot(const struct verify_trace *trace, const char *path);

/* Whether that is the name of a folder of snapshots. */
bool verify_is_snapshot_folder(const char *name);
