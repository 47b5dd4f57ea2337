// SPDX-License-Identifier: GPL-2.0-or-later
#include "session_output.h"

#include <pwd.h>
#include <string.h>
#include <time.h>

#include "output.h"
#include "units.h"
#include "verb.h"

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
}

/* "pids 17,18"; times and sizes readable by the end of the name. */
static void print_filter(const char *name, struct json_object *value, FILE *stream)
{
	size_t length = strlen(name);
	char text[64];

	if (length > 3 && !strcmp(name + length - 3, "_ns")) {
		fprintf(stream, "%.*s %s", (int)length - 3, name,
			iotr_format_duration(text, sizeof(text), json_object_get_uint64(value)));
		return;
	}
	put_text(stream, name);
	if (json_object_is_type(value, json_type_boolean))
		return;
	putc(' ', stream);
	if (!strcmp(name, "min_size")) {
		fputs(iotr_format_size(text, sizeof(text), json_object_get_uint64(value)), stream);
		return;
	}
	if (!json_object_is_type(value, json_type_array))
		put_text(stream, json_object_get_string(value) ?: "");
	for (size_t i = 0; i < count_of(value); i++) {
		if (i)
			putc(',', stream);
		put_text(stream, json_object_get_string(json_object_array_get_idx(value, i)) ?: "");
	}
}

/* A filter that lets everything pass is not worth a word. */
static bool filters_something(struct json_object *value)
{
	switch (json_object_get_type(value)) {
	case json_type_null:
		return false;
	case json_type_boolean:
		return json_object_get_boolean(value);
	case json_type_int:
		return json_object_get_uint64(value) > 0;
	case json_type_array:
		return json_object_array_length(value) > 0;
	case json_type_object:
		return json_object_object_length(value) > 0;
	default:
		return true;
	}
}

static void print_filters(struct json_object *session, FILE *stream)
{
	struct json_object *filters = member_of(session, "filters");
	const char *before = "  filters  ";

	if (!json_object_is_type(filters, json_type_object))
		return;
	json_object_object_foreach(filters, name, value)
	{
		if (!filters_something(value))
			continue;
		fputs(before, stream);
		print_filter(name, value, stream);
		before = ", ";
	}
	if (*before == ',')
		putc('\n', stream);
}

static void print_started(struct json_object *session, FILE *stream)
{
	const char *started = text_of(session, "started", NULL);
	struct tm calendar = { 0 };
	char text[32];
	time_t age;

	if (!started)
		return;
	fprintf(stream, "  started  ");
	put_text(stream, started);
	if (strptime(started, "%Y-%m-%dT%H:%M:%S", &calendar)) {
		age = time(NULL) - timegm(&calendar);
		if (age >= 0)
			fprintf(stream, ", %s ago",
				iotr_format_duration(text, sizeof(text),
						     (uint64_t)age * 1000000000));
	}
	putc('\n', stream);
}

static void print_owner(struct json_object *session, FILE *stream)
{
	struct json_object *owner = member_of(session, "owner_uid");
	struct passwd *user;

	if (!owner)
		return;
	user = getpwuid((uid_t)json_object_get_int64(owner));
	fprintf(stream, "  owner    ");
	put_text(stream, user ? user->pw_name : json_object_get_string(owner));
	putc('\n', stream);
}

static void print_line(struct json_object *session, const char *label, const char *key,
		       FILE *stream)
{
	const char *text = text_of(session, key, NULL);

	if (!text)
		return;
	fprintf(stream, "  %-8s ", label);
	put_text(stream, text);
	putc('\n', stream);
}

static void print_missing(struct json_object *session, FILE *stream)
{
	struct json_object *missing = member_of(session, "missing");

	for (size_t i = 0; i < count_of(missing); i++) {
		struct json_object *row = json_object_array_get_idx(missing, i);

		fprintf(stream, "  %smissing%s  ", style(stream, STYLE_BAD),
			style(stream, STYLE_PLAIN));
		put_text(stream, text_of(row, "stream", ""));
		putc(' ', stream);
		put_text(stream, text_of(row, "operation", ""));
		fputs(": ", stream);
		put_text(stream, text_of(row, "reason", "no reason is known"));
		putc('\n', stream);
	}
}

void print_session(struct json_object *session, FILE *stream)
{
	fputs(style(stream, STYLE_BOLD), stream);
	put_text(stream, text_of(session, "name", "?"));
	fputs(style(stream, STYLE_PLAIN), stream);
	fputs(": ", stream);
	put_text(stream, text_of(session, "state", "?"));
	putc('\n', stream);
	print_started(session, stream);
	print_line(session, "output", "output", stream);
	print_line(session, "level", "level", stream);
	print_owner(session, stream);
	print_filters(session, stream);
	print_missing(session, stream);
	print_session_streams(session, stream);
}

bool complain_missing(struct json_object *session)
{
	struct json_object *missing = member_of(session, "missing");

	for (size_t i = 0; i < count_of(missing); i++) {
		struct json_object *row = json_object_array_get_idx(missing, i);
		const char *operation = text_of(row, "operation", "");

		complain(NULL, "not recorded: %s%s%s: %s", text_of(row, "stream", "?"),
			 *operation ? " " : "", operation,
			 text_of(row, "reason", "no reason is known"));
	}
	return count_of(missing) > 0;
}
