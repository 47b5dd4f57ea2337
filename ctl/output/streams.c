// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/streams.h"

#include <inttypes.h>
#include <string.h>

#include "output/json.h"
#include "output/table.h"
#include "output/text.h"
#include "units.h"

static uint64_t lost_of(struct json_object *stream)
{
	struct json_object *lost = member_of(stream, "lost");
	uint64_t sum = 0;

	if (!json_object_is_type(lost, json_type_object))
		return json_object_get_uint64(lost);
	json_object_object_foreach(lost, cause, count)
		if (strcmp(cause, "names")) /* these rows are present, only their names are missing */
			sum += json_object_get_uint64(count);
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

/* Rows written, or kept in memory by a flight recorder. */
static uint64_t written_of(struct json_object *stream)
{
	return number_of(stream, "written") + number_of(stream, "kept");
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

bool format_removed(char *text, size_t size, struct json_object *stream, enum iotr_removal limit)
{
	struct json_object *of = member_of(member_of(stream, "removed_by"), iotr_removal_keys[limit]);
	uint64_t rows = number_of(of, "rows"), segments = number_of(of, "segments");
	char count[32], files[32];

	if (!segments)
		return false;
	snprintf(text, size, "%s %s in %s closed %s removed, to keep within %s",
		 format_count(count, sizeof(count), rows), rows == 1 ? "row" : "rows",
		 format_count(files, sizeof(files), segments), segments == 1 ? "segment was" : "segments were",
		 iotr_removal_texts[limit]);
	return true;
}

void format_in_flight(char *text, size_t size, struct json_object *entry)
{
	struct json_object *oldest = member_of(entry, "oldest");
	const char *file = text_of(oldest, "filename", NULL) ?: text_of(oldest, "device", NULL);
	const char *command = text_of(oldest, "command", NULL);
	uint64_t operations = number_of(entry, "count");
	char count[32], pid[32] = "";

	if (member_of(oldest, "pid"))
		snprintf(pid, sizeof(pid), " (%" PRIu64 ")", number_of(oldest, "pid"));
	snprintf(text, size, "%s %s in flight at its end, and %s no row; the oldest: %.64s%s%.200s%s%.64s%s, since %.40s",
		 format_count(count, sizeof(count), operations), operations == 1 ? "operation was" : "operations were",
		 operations == 1 ? "has" : "have", text_of(oldest, "operation", "?"), file ? " of " : "", file ?: "",
		 command ? " by " : "", command ?: "", pid, text_of(oldest, "since", "?"));
}

static void print_in_flight(struct json_object *session, FILE *out)
{
	struct json_object *list = member_of(session, "in_flight");
	char text[512];

	for (size_t i = 0; i < count_of(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);

		format_in_flight(text, sizeof(text), entry);
		put_line(out, "  %s: %s", text_of(entry, "stream", "?"), text);
	}
}

/*
 * Writes "3 (queue 2, disk 1, names 5)": losses by where they happened. Lost names are not lost rows, so the
 * sum excludes them.
 */
static void format_lost(char *text, size_t size, struct json_object *stream)
{
	struct json_object *lost = member_of(stream, "lost");
	uint64_t sum = lost_of(stream);
	char count[32];
	size_t at;
	const char *comma = " (";

	at = (size_t)snprintf(text, size, "%s", format_count(count, sizeof(count), sum));
	if (!json_object_is_type(lost, json_type_object))
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
	if (at < size && *comma == ',')
		snprintf(text + at, size - at, ")");
}

static void add_count(struct table *table, struct json_object *stream, const char *key)
{
	char text[32];

	table_add(table, STYLE_PLAIN, "%s", format_count(text, sizeof(text), number_of(stream, key)));
}

static void add_size(struct table *table, struct json_object *stream, const char *key)
{
	char text[32];

	table_add(table, STYLE_PLAIN, "%s",
		  iotr_format_size(text, sizeof(text), number_of(stream, key)));
}

static void add_lost(struct table *table, struct json_object *stream, const char *key)
{
	char text[192];

	(void)key;
	format_lost(text, sizeof(text), stream);
	table_add(table, strcmp(text, "0") ? STYLE_BAD : STYLE_PLAIN, "%s", text);
}

/* Columns of the table, each shown if the streams have it. */
static const struct column {
	const char *head;
	const char *key;
	void (*add)(struct table *table, struct json_object *stream, const char *key);
} columns[] = {
	{ "EMITTED", "emitted", add_count },   { "WRITTEN", "written", add_count },
	{ "KEPT", "kept", add_count },	       { "OVERWRITTEN", "overwritten", add_count },
	{ "LOST", "lost", add_lost },	       { "SIZE", "bytes", add_size },
	{ "SEGMENTS", "segments", add_count }, { "ROWS/S", "rows_per_s", add_count },
	{ "BYTES/S", "bytes_per_s", add_size },
};

static void print_missed(struct json_object *streams, FILE *out)
{
	char count[32];

	json_object_object_foreach(streams, flag, stream)
	{
		uint64_t missed = number_of(stream, "missed");

		uint64_t unfollowed = number_of(stream, "unfollowed");
		uint64_t forgotten = number_of(stream, "forgotten");

		if (forgotten)
			fprintf(out, "  %s: who made %s pages dirty was forgotten before they were seen written\n", flag,
				format_count(count, sizeof(count), forgotten));
		if (unfollowed)
			fprintf(out, "  %s: there was no room to follow %s processes, whose rows are missing\n", flag,
				format_count(count, sizeof(count), unfollowed));
		if (missed)
			fprintf(out,
				"  %s: the kernel skipped BPF programs %s times, as it had preempted them; "
				"rows may be missing\n",
				flag, format_count(count, sizeof(count), missed));
	}
}

/* What limits of storage took away again of what was written. */
static void print_removed(struct json_object *streams, FILE *out)
{
	char text[128];

	json_object_object_foreach(streams, flag, stream)
		for (enum iotr_removal limit = 0; limit < IOTR_REMOVAL_COUNT; limit++)
			if (format_removed(text, sizeof(text), stream, limit))
				fprintf(out, "  %s: %s\n", flag, text);
}

/* The columns are those of the first stream, as all streams of a session have the same. */
static struct table begin_table(struct json_object *first, const struct column *shown[])
{
	struct table table = { .columns = 1, .indent = 2 };

	table_add(&table, STYLE_BOLD, "STREAM");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		if (!member_of(first, columns[i].key))
			continue;
		if (columns[i].add != add_lost)
			table.right |= 1U << table.columns;
		shown[table.columns++ - 1] = &columns[i];
		table_add(&table, STYLE_BOLD, "%s", columns[i].head);
	}
	return table;
}

static struct json_object *first_stream(struct json_object *streams)
{
	json_object_object_foreach(streams, flag, stream)
	{
		(void)flag;
		return stream;
	}
	return NULL;
}

void print_session_streams(struct json_object *session, FILE *out)
{
	const struct column *shown[sizeof(columns) / sizeof(columns[0])];
	struct json_object *streams = member_of(session, "streams");
	struct table table;

	if (!json_object_is_type(streams, json_type_object))
		return;
	table = begin_table(first_stream(streams), shown);
	json_object_object_foreach(streams, flag, stream)
	{
		table_add(&table, STYLE_PLAIN, "%s", flag);
		for (size_t i = 0; i + 1 < table.columns; i++)
			shown[i]->add(&table, stream, shown[i]->key);
	}
	table_print(&table, out);
	table_done(&table);
	print_removed(streams, out);
	print_missed(streams, out);
	print_in_flight(session, out);
}
