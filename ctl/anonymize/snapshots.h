/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "anonymize.h"
#include "anonymize/totals.h"
#include "verify/trace.h"

/*
 * Rewrites the snapshots of a trace. Tables with known columns are anonymised; everything else is left out, also of
 * the trace's `json`. Returns the exit code after printing an error.
 */
int anonymize_snapshots(struct iotr_anonymizer *anonymizer, struct verify_trace *trace, int to_fd,
			struct anonymize_totals *totals);
