// SPDX-License-Identifier: GPL-2.0-or-later
/* What the manifest says of rows, losses and gaps, added up. */
#include <inttypes.h>

#include "output.h"
#include "verify.h"

#define MANIFEST "manifest.json"

/* No row is on its way once the session has ended. */
static void check_balance(const struct verify_stream *stream, struct verify_report *report)
{
	if (stream->emitted != stream->written + stream->lost)
		verify_say(report, VERIFY_WRONG, MANIFEST,
			   "%s: emitted %" PRIu64 " is not written %" PRIu64 " + lost %" PRIu64,
			   stream->flag, stream->emitted, stream->written, stream->lost);
}

static void check_rows(const struct verify_stream *stream, struct verify_report *report)
{
	if (stream->rows + stream->removed != stream->written)
		verify_say(report, VERIFY_WRONG, MANIFEST,
			   "%s: its segments have %" PRIu64 " rows, not written %" PRIu64
			   " - removed %" PRIu64,
			   stream->flag, stream->rows, stream->written, stream->removed);
}

static void tell_losses(const struct verify_stream *stream, struct verify_report *report)
{
	if (stream->lost)
		verify_say(report, VERIFY_LOSS, MANIFEST, "%s: %" PRIu64 " rows were lost",
			   stream->flag, stream->lost);
	if (stream->missed)
		verify_say(report, VERIFY_LOSS, MANIFEST,
			   "%s: the kernel left out programs %" PRIu64 " times", stream->flag,
			   stream->missed);
	if (stream->removed)
		verify_say(report, VERIFY_LOSS, MANIFEST,
			   "%s: retention removed %" PRIu64 " rows", stream->flag, stream->removed);
	if (stream->unknown)
		verify_say(report, VERIFY_LOSS, MANIFEST,
			   "%s: a crash took rows that nobody counted", stream->flag);
}

static void tell_gaps(const struct verify_trace *trace, struct verify_report *report)
{
	struct json_object *gaps = member_of(trace->json, "gaps");

	for (size_t i = 0; i < count_of(gaps); i++) {
		struct json_object *gap = json_object_array_get_idx(gaps, i);

		verify_say(report, VERIFY_LOSS, MANIFEST, "nothing was recorded from %.64s to %.64s: %.64s",
			   text_of(gap, "from", "?"), text_of(gap, "to", "?"),
			   text_of(gap, "reason", "?"));
	}
}

void verify_counts(struct verify_trace *trace, struct verify_report *report)
{
	for (size_t i = 0; i < trace->stream_count; i++) {
		if (!trace->running)
			check_balance(&trace->streams[i], report);
		check_rows(&trace->streams[i], report);
		tell_losses(&trace->streams[i], report);
	}
	tell_gaps(trace, report);
}
