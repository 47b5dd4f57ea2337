// SPDX-License-Identifier: GPL-2.0-or-later
/* The streams of a session: sums over them, and a line for each. */
#include "session_output.h"

#include <string.h>

#include "output.h"
#include "units.h"

static uint64_t lost_of(struct json_object *stream)
{
	struct json_object *lost = member_of(stream, "lost");
	uint64_t sum = 0;

	if (!json_object_is_type(lost, json_type_object))
		return json_object_get_uint64(lost);
	json_object_object_foreach(lost, cause, count)
	{
		(void)cause;
		sum += json_object_get_uint64(count);
	}
	return sum;
}

static uint64_t sum_streams(struct json_object *session,
			    uint64_t (*get)(struct json_object *stream))
{
	struct json_object *streams = member_of(session, "streams");
	uint64_t sum = 0;

	if (!json_object_is_type(streams, json_type_object))
		return 0;
	json_object_object_foreach(streams, flag, stream)
	{
		(void)flag;
		sum += get(stream);
	}
	return sum;
}

static uint64_t written_of(struct json_object *stream)
{
	return number_of(stream, "written");
}

uint64_t session_written(struct json_object *session)
{
	return sum_streams(session, written_of);
}

static uint64_t removed_of(struct json_object *stream)
{
	return number_of(stream, "removed");
}

uint64_t session_removed(struct json_object *session)
{
	return sum_streams(session, removed_of);
}

uint64_t session_lost(struct json_object *session)
{
	return sum_streams(session, lost_of);
}

char *join_streams(struct json_object *session, char *text, size_t size)
{
	struct json_object *streams = member_of(session, "streams");
	size_t at = 0;

	*text = '\0';
	if (!json_object_is_type(streams, json_type_object))
		return text;
	json_object_object_foreach(streams, flag, stream)
	{
		(void)stream;
		if (at < size)
			at += (size_t)snprintf(text + at, size - at, "%s%s", at ? ", " : "", flag);
	}
	return text;
}

/* "3 (queue 2, disk 1)": each loss under the name of where it happened. */
static void format_lost(char *text, size_t size, struct json_object *stream)
{
	struct json_object *lost = member_of(stream, "lost");
	uint64_t sum = lost_of(stream);
	char count[32];
	size_t at;
	const char *comma = " (";

	at = (size_t)snprintf(text, size, "%s", format_count(count, sizeof(count), sum));
	if (!sum || !json_object_is_type(lost, json_type_object))
		return;
	json_object_object_foreach(lost, cause, value)
	{
		uint64_t number = json_object_get_uint64(value);

		if (!number || at >= size)
			continue;
		at += (size_t)snprintf(text + at, size - at, "%s%s %s", comma, cause,
				       format_count(count, sizeof(count), number));
		comma = ", ";
	}
	if (at < size)
		snprintf(text + at, size - at, ")");
}

static void add_stream(struct table *table, const char *flag, struct json_object *stream)
{
	char emitted[32], written[32], segments[32], bytes[32], lost[192];

	format_lost(lost, sizeof(lost), stream);
	table_add(table, STYLE_PLAIN, "%s", flag);
	table_add(table, STYLE_PLAIN, "%s",
		  format_count(emitted, sizeof(emitted), number_of(stream, "emitted")));
	table_add(table, STYLE_PLAIN, "%s",
		  format_count(written, sizeof(written), number_of(stream, "written")));
	table_add(table, lost_of(stream) ? STYLE_BAD : STYLE_PLAIN, "%s", lost);
	table_add(table, STYLE_PLAIN, "%s",
		  iotr_format_size(bytes, sizeof(bytes), number_of(stream, "bytes")));
	table_add(table, STYLE_PLAIN, "%s",
		  format_count(segments, sizeof(segments), number_of(stream, "segments")));
}

static void print_missed(struct json_object *streams, FILE *out)
{
	char count[32];

	json_object_object_foreach(streams, flag, stream)
	{
		uint64_t missed = number_of(stream, "missed");

		if (missed)
			fprintf(out,
				"  %s: the kernel left out our programs %s times, since it had preempted them; "
				"rows may be missing\n",
				flag, format_count(count, sizeof(count), missed));
	}
}

void print_session_streams(struct json_object *session, FILE *stream)
{
	static const char *const heads[] = { "STREAM", "EMITTED", "WRITTEN",
					     "LOST",   "SIZE",	  "SEGMENTS" };
	struct json_object *streams = member_of(session, "streams");
	struct table table = { .columns = 6,
			       .right = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5,
			       .indent = 2 };

	if (!json_object_is_type(streams, json_type_object))
		return;
	for (size_t i = 0; i < table.columns; i++)
		table_add(&table, STYLE_BOLD, "%s", heads[i]);
	json_object_object_foreach(streams, flag, value) add_stream(&table, flag, value);
	table_print(&table, stream);
	table_done(&table);
	print_missed(streams, stream);
}
