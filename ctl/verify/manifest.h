/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "verify/report.h"
#include "verify/trace.h"

/*
 * Reads the manifest in the trace's folder into the trace; every value is checked before it is used. Returns
 * false if it cannot be understood, which has been reported.
 */
bool verify_manifest_read(struct verify_trace *trace, struct verify_report *report);
