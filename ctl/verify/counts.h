/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "verify/report.h"
#include "verify/trace.h"

/* Checks the sums of the manifest, and reports the losses that it tells of. */
void verify_counts(const struct verify_trace *trace, struct verify_report *report);
