/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rewrites a trace that was recorded in the clear as --anonymize would have written it. Nothing in the folder is
 * trusted. Memory is bounded. Errors are printed on stderr where they occur, and returned as an exit code. One
 * thread.
 */
#pragma once

#include "anonymize.h"
#include "anonymize/totals.h"
#include "verify/trace.h"

/*
 * Writes all segments and snapshots of a trace that verify found to be correct, and its manifest, into the folder
 * `to_fd`. Adds to the totals; the trace's `json` is changed.
 */
int anonymize_trace(struct iotr_anonymizer *anonymizer, struct verify_trace *trace, int to_fd,
		    struct anonymize_totals *totals);
