/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of a report as one JSON document, which its page draws. One thread. */
#pragma once

#include "report/gather.h"

/*
 * A summary's document, and beside it `trace` (what the manifest says of the session), `heat`, `depth` and
 * `amplification`. `most`: so many of each list, and commands. The caller owns it; NULL: out of memory.
 */
struct json_object *report_document(const char *path, const struct summary *summary, struct gathered *gathered,
				    const struct verify_trace *trace, const struct verify_report *report, size_t most);
