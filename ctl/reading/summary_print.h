/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A summary for people, and as one JSON document, both on stdout. One thread. */
#pragma once

#include "reading/summary.h"

/* How lists are shown: so many of each, by what. */
struct summary_view {
	size_t most;
	enum top_order order;
};

void summary_print(const struct summary *summary, const struct verify_trace *trace, const struct verify_report *report,
		   const struct summary_view *view);
/* The document, which the caller owns. */
struct json_object *summary_document(const char *path, const struct summary *summary, const struct verify_trace *trace,
				     const struct verify_report *report, const struct summary_view *view);
void summary_print_json(const char *path, const struct summary *summary, const struct verify_trace *trace,
			const struct verify_report *report, const struct summary_view *view);

/* The operations of a stream, those with the most rows first; `list` has room for SUMMARY_OPERATIONS_MAX. */
size_t summary_sorted(const struct summary_stream *stream, const struct summary_operation **list);
