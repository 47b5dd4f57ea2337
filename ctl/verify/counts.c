// SPDX-License-Identifier: GPL-2.0-or-later
#include "verify/counts.h"

#include <inttypes.h>
#include <string.h>

#include "output/json.h"
#include "output/missing.h"
#include "output/streams.h"

/* After the end of a session no row is pending. */
static void check_balance(const struct verify_stream *stream, struct verify_report *report)
{
	if (stream->emitted != stream->written + stream->lost)
		verify_say(report, VERIFY_WRONG, MANIFEST_NAME,
			   "%s: emitted %" PRIu64 " is not written %" PRIu64 " + lost %" PRIu64,
			   stream->flag, stream->emitted, stream->written, stream->lost);
}

static void check_rows(const struct verify_stream *stream, struct verify_report *report)
{
	if (stream->rows + stream->removed != stream->written)
		verify_say(report, VERIFY_WRONG, MANIFEST_NAME,
			   "%s: its segments have %" PRIu64 " rows, not written %" PRIu64
			   " - removed %" PRIu64,
			   stream->flag, stream->rows, stream->written, stream->removed);
}

/* The time during which rows of a stream were lost for one cause. */
struct when {
	uint64_t rows;
	const char *from, *to; /* NULL: the manifest contains no time */
};

static struct when find_when(struct json_object *losses, const char *flag, const char *cause)
{
	struct when when = { 0 };

	for (size_t i = 0; i < count_of(losses); i++) {
		struct json_object *loss = json_object_array_get_idx(losses, i);
		const char *from = text_of(loss, "from", "?"), *to = text_of(loss, "to", "?");

		if (strcmp(text_of(loss, "stream", ""), flag) || strcmp(text_of(loss, "cause", ""), cause))
			continue;
		when.rows += number_of(loss, "rows");
		when.from = when.from && strcmp(when.from, from) < 0 ? when.from : from;
		when.to = when.to && strcmp(when.to, to) > 0 ? when.to : to;
	}
	return when;
}

static void tell_loss(const struct verify_stream *stream, const char *cause, uint64_t rows,
		      struct json_object *losses, struct verify_report *report)
{
	struct when when = find_when(losses, stream->flag, cause);

	if (!strcmp(cause, VERIFY_LOST_NAMES))
		return;
	if (losses && when.rows != rows)
		verify_say(report, VERIFY_WRONG, MANIFEST_NAME,
			   "%s: %" PRIu64 " rows were lost in: %.64s, but the list of losses has %" PRIu64,
			   stream->flag, rows, cause, when.rows);
	if (rows)
		verify_say(report, VERIFY_LOSS, MANIFEST_NAME,
			   "%s: %" PRIu64 " rows are missing, lost in: %.64s%s%.40s%s%.40s", stream->flag,
			   rows, cause, when.from ? ", between " : "", when.from ?: "",
			   when.to ? " and " : "", when.to ?: "");
}

static void tell_losses(const struct verify_trace *trace, const struct verify_stream *stream,
			struct verify_report *report)
{
	struct json_object *losses = member_of(trace->json, "losses");

	json_object_object_foreach(stream->lost_by, cause, value)
		tell_loss(stream, cause, json_object_get_uint64(value), losses, report);
	if (stream->unknown)
		verify_say(report, VERIFY_LOSS, MANIFEST_NAME,
			   "%s: a crash lost an unknown number of rows", stream->flag);
	if (stream->unfollowed)
		verify_say(report, VERIFY_LOSS, MANIFEST_NAME,
			   "%s: there was no room to follow %" PRIu64 " processes, whose rows are missing",
			   stream->flag, stream->unfollowed);
}

struct json_object *verify_removed_by(const struct verify_stream *stream, enum iotr_removal limit)
{
	return member_of(member_of(stream->object, "removed_by"), iotr_removal_keys[limit]);
}

/* Reports what was removed to keep within limits, and which ones, as far as the manifest knows. */
static void tell_removed(const struct verify_stream *stream, struct verify_report *report)
{
	uint64_t rows = stream->removed;
	char text[128];

	for (enum iotr_removal limit = 0; limit < IOTR_REMOVAL_COUNT; limit++) {
		uint64_t part = number_of(verify_removed_by(stream, limit), "rows");

		if (!format_removed(text, sizeof(text), stream->object, limit))
			continue;
		verify_say(report, VERIFY_CAVEAT, MANIFEST_NAME, "%s: %s", stream->flag, text);
		rows -= part < rows ? part : rows;
	}
	if (rows)
		verify_say(report, VERIFY_CAVEAT, MANIFEST_NAME,
			   "%s: to keep within limits, %" PRIu64 " rows were removed", stream->flag, rows);
}

/* Reports what does not mean that a row which the session had to record is missing. */
static void tell_caveats(const struct verify_stream *stream, struct verify_report *report)
{
	if (stream->lost_names)
		verify_say(report, VERIFY_CAVEAT, MANIFEST_NAME,
			   "%s: the name of a file, or an argument, was lost in %" PRIu64 " rows", stream->flag,
			   stream->lost_names);
	if (stream->missed)
		verify_say(report, VERIFY_CAVEAT, MANIFEST_NAME,
			   "%s: the kernel skipped programs %" PRIu64
			   " times, and what they would have recorded is unknown",
			   stream->flag, stream->missed);
	if (stream->forgotten)
		verify_say(report, VERIFY_CAVEAT, MANIFEST_NAME,
			   "%s: who made %" PRIu64 " pages dirty was forgotten before they were seen written",
			   stream->flag, stream->forgotten);
	tell_removed(stream, report);
}

static void tell_gaps(const struct verify_trace *trace, struct verify_report *report)
{
	struct json_object *gaps = member_of(trace->json, "gaps");

	for (size_t i = 0; i < count_of(gaps); i++) {
		struct json_object *gap = json_object_array_get_idx(gaps, i);
		bool restart = !strcmp(text_of(gap, "reason", ""), "restart"); /* no row was there to be lost */

		verify_say(report, restart ? VERIFY_CAVEAT : VERIFY_LOSS, MANIFEST_NAME,
			   "nothing was recorded from %.64s to %.64s: %.64s", text_of(gap, "from", "?"),
			   text_of(gap, "to", "?"), text_of(gap, "reason", "?"));
	}
}

/* Reports what had not ended when the session did. */
static void tell_in_flight(const struct verify_trace *trace, struct verify_report *report)
{
	struct json_object *list = member_of(trace->json, "in_flight");
	char text[512];

	for (size_t i = 0; i < count_of(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);

		format_in_flight(text, sizeof(text), entry);
		verify_say(report, VERIFY_NOTE, MANIFEST_NAME, "%.64s: %s", text_of(entry, "stream", "?"), text);
	}
}

/* Reports what the first rows lack, as hooks were attached behind the session's start. */
static void tell_lacking(const struct verify_trace *trace, struct verify_report *report)
{
	struct json_object *lacking = member_of(trace->json, "lacking");

	for (size_t i = 0; i < count_of(lacking); i++) {
		struct json_object *lack = json_object_array_get_idx(lacking, i);

		verify_say(report, VERIFY_NOTE, MANIFEST_NAME, "%.64s: from %.64s to %.64s rows may lack %.128s: %.128s",
			   text_of(lack, "stream", "?"), text_of(lack, "from", "?"), text_of(lack, "to", "the end"),
			   text_of(lack, "what", "?"), text_of(lack, "reason", "?"));
	}
}

/* Reports hooks that could not be attached. Operations for which this kernel has no hook are not reported. */
static void tell_hooks(const struct verify_trace *trace, struct verify_report *report)
{
	struct json_object *missing = member_of(trace->json, "missing");

	for (size_t i = 0; i < count_of(missing); i++) {
		struct json_object *entry = json_object_array_get_idx(missing, i);
		char text[480];

		if (member_of(entry, "hook") && format_missing(text, sizeof(text), missing, i, false))
			verify_say(report, VERIFY_CAVEAT, MANIFEST_NAME, "not recorded: %s", text);
	}
}

void verify_counts(const struct verify_trace *trace, struct verify_report *report)
{
	for (size_t i = 0; i < trace->stream_count; i++) {
		if (!trace->running)
			check_balance(&trace->streams[i], report);
		check_rows(&trace->streams[i], report);
		tell_losses(trace, &trace->streams[i], report);
		tell_caveats(&trace->streams[i], report);
	}
	tell_gaps(trace, report);
	tell_in_flight(trace, report);
	tell_lacking(trace, report);
	tell_hooks(trace, report);
}
