/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares a trace on disk with its manifest. Nothing in the folder is trusted, neither the manifest's values nor
 * what its paths lead to. One thread.
 */
#pragma once

#include "verify/report.h"
#include "verify/trace.h"

/* What to do about a path that is no trace. */
#define VERIFY_HINT "Give the folder of a trace, the one with manifest.json; 'iotracectl traces' lists them."

/* Opens the folder of a trace. Returns -1 on an error, which has been printed. */
int verify_open(const char *path);

/* Checks everything that the manifest, which was read, describes: counts, segments, snapshots. */
void verify_contents(struct verify_trace *trace, struct verify_report *report);
