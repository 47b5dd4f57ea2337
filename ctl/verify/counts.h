/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "removal.h"
#include "verify/report.h"
#include "verify/trace.h"

/* The {rows, segments} that a limit removed of a stream; NULL: none. */
struct json_object *verify_removed_by(const struct verify_stream *stream, enum iotr_removal limit);

/* Checks the sums of the manifest, and reports the losses that it tells of. */
void verify_counts(const struct verify_trace *trace, struct verify_report *report);
