// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/sessions.h"

#include <pwd.h>
#include <string.h>
#include <time.h>

#include "output/complain.h"
#include "output/json.h"
#include "output/missing.h"
#include "output/streams.h"
#include "output/text.h"
#include "units.h"

enum { LOSSES_SHOWN = 3 };

/* Prints "vfs=10,cache=2". */
static void print_shares(struct json_object *shares, FILE *stream)
{
	const char *before = "";

	json_object_object_foreach(shares, name, value)
	{
		fputs(before, stream);
		put_text(stream, name);
		fprintf(stream, "=%s", json_object_get_string(value));
		before = ",";
	}
}

/* Prints "pids 17,18"; the end of the name shows which values are durations or sizes. */
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
	if (length > 5 && !strcmp(name + length - 5, "_size")) {
		fputs(iotr_format_size(text, sizeof(text), json_object_get_uint64(value)), stream);
		return;
	}
	if (json_object_is_type(value, json_type_object)) {
		print_shares(value, stream);
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

/* A filter that lets everything pass is not printed. */
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

/* Begins a line about a problem. */
static void put_bad(FILE *stream, const char *word)
{
	fprintf(stream, "  %s%s%s%*s", style(stream, STYLE_BAD), word, style(stream, STYLE_PLAIN),
		9 - (int)strlen(word), "");
}

static void print_missing(struct json_object *session, FILE *stream)
{
	struct json_object *missing = member_of(session, "missing");
	char text[1024];

	for (size_t i = 0; i < count_of(missing); i++) {
		if (!format_missing(text, sizeof(text), missing, i, true))
			continue;
		put_bad(stream, "missing");
		put_line(stream, "%s", text);
	}
}

/* Prints limits and rotation as "max_events 1000, rotate_size 128 MiB". */
static void print_limits(struct json_object *session, FILE *stream)
{
	static const char *const names[] = { "duration_ns",	     "max_size",    "max_events",
					     "rotate_interval_ns", "rotate_size", "keep_segments",
					     "keep_size",	     "queue_size" };
	const char *before = "  limits   ";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!number_of(session, names[i]))
			continue;
		fputs(before, stream);
		print_filter(names[i], member_of(session, names[i]), stream);
		before = ", ";
	}
	if (*before == ',')
		putc('\n', stream);
}

/* Prints how much there is after compression, and how much was removed. */
static void print_files(struct json_object *session, FILE *stream)
{
	uint64_t waiting = number_of(session, "uncompressed"), removed = session_removed(session);
	char text[32];

	if (!member_of(session, "stored_bytes"))
		return;
	fprintf(stream, "  files    %s",
		iotr_format_size(text, sizeof(text), number_of(session, "stored_bytes")));
	if (waiting)
		fprintf(stream, ", %s to be compressed",
			format_count(text, sizeof(text), waiting));
	if (removed)
		fprintf(stream, "; %s rows removed to keep within limits",
			format_count(text, sizeof(text), removed));
	putc('\n', stream);
}

static void print_disk_errors(struct json_object *session, FILE *stream)
{
	struct json_object *errors = member_of(session, "disk_errors");

	for (size_t i = 0; i < count_of(errors); i++) {
		struct json_object *error = json_object_array_get_idx(errors, i);
		const char *to = text_of(error, "to", NULL);

		put_bad(stream, "disk");
		put_text(stream, text_of(error, "error", "?"));
		fprintf(stream, ", from %s to %s, %llu rows lost\n", text_of(error, "from", "?"),
			to ?: "now", (unsigned long long)number_of(error, "lost"));
	}
}

static void print_gaps(struct json_object *session, FILE *stream)
{
	struct json_object *gaps = member_of(session, "gaps");

	for (size_t i = 0; i < count_of(gaps); i++) {
		struct json_object *gap = json_object_array_get_idx(gaps, i);

		put_bad(stream, "gap");
		put_text(stream, text_of(gap, "reason", "?"));
		fputs(", nothing was recorded from ", stream);
		put_text(stream, text_of(gap, "from", "?"));
		fputs(" to ", stream);
		put_text(stream, text_of(gap, "to", "?"));
		putc('\n', stream);
	}
}

static void print_lacking(struct json_object *session, FILE *stream)
{
	struct json_object *lacking = member_of(session, "lacking");

	for (size_t i = 0; i < count_of(lacking); i++) {
		struct json_object *lack = json_object_array_get_idx(lacking, i);

		put_bad(stream, "lacking");
		put_text(stream, text_of(lack, "what", "?"));
		fputs(", from ", stream);
		put_text(stream, text_of(lack, "from", "?"));
		fputs(" to ", stream);
		put_text(stream, text_of(lack, "to", "now"));
		fputs(": ", stream);
		put_text(stream, text_of(lack, "reason", "?"));
		putc('\n', stream);
	}
}

/* Prints the last few losses, each with its time. */
static void print_losses(struct json_object *session, FILE *stream)
{
	struct json_object *losses = member_of(session, "losses");
	size_t count = count_of(losses);
	char rows[32];

	for (size_t i = count > LOSSES_SHOWN ? count - LOSSES_SHOWN : 0; i < count; i++) {
		struct json_object *loss = json_object_array_get_idx(losses, i);

		put_bad(stream, "lost");
		fprintf(stream, "%s rows of ", format_count(rows, sizeof(rows), number_of(loss, "rows")));
		put_text(stream, text_of(loss, "stream", "?"));
		fputs(" in ", stream);
		put_text(stream, text_of(loss, "cause", "?"));
		fputs(", from ", stream);
		put_text(stream, text_of(loss, "from", "?"));
		fputs(" to ", stream);
		put_text(stream, text_of(loss, "to", "?"));
		putc('\n', stream);
	}
}

/* Prints the use of a flight recorder's memory. */
static void print_memory(struct json_object *session, FILE *stream)
{
	struct json_object *memory = member_of(session, "flight_recorder");
	char size[32], used[32], span[32];

	if (!memory)
		return;
	fprintf(stream, "  memory   %s of %s, the last %s%s\n",
		iotr_format_size(used, sizeof(used), number_of(memory, "used")),
		iotr_format_size(size, sizeof(size), number_of(memory, "size")),
		iotr_format_duration(span, sizeof(span), number_of(memory, "span_ns")),
		json_object_get_boolean(member_of(memory, "dumping")) ? ", being dumped" : "");
}

/* Prints each trigger, and when it has acted. */
static void print_triggers(struct json_object *session, FILE *stream)
{
	struct json_object *triggers = member_of(session, "triggers");
	size_t count = triggers ? json_object_array_length(triggers) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *trigger = json_object_array_get_idx(triggers, i);

		fputs("  trigger  ", stream);
		put_text(stream, text_of(trigger, "action", "?"));
		fputs(" on ", stream);
		put_text(stream, text_of(trigger, "trigger", "?"));
		if (number_of(trigger, "fired")) {
			fprintf(stream, ": %" PRIu64 " %s, last at ", number_of(trigger, "fired"),
				number_of(trigger, "fired") == 1 ? "time" : "times");
			put_text(stream, text_of(trigger, "last_fired", "?"));
			fputs(" with ", stream);
			put_text(stream, text_of(trigger, "last_value", "?"));
		}
		putc('\n', stream);
	}
	if (member_of(session, "trigger_error")) {
		put_bad(stream, "trigger");
		put_text(stream, text_of(session, "trigger_error", "?"));
		putc('\n', stream);
	}
}

static void print_cost(struct json_object *session, FILE *stream)
{
	struct json_object *writer = member_of(session, "writer");

	if (writer)
		fprintf(stream, "  writer   %.2f %% of a CPU\n",
			(double)number_of(writer, "cpu_ns_per_s") / 1e7);
}

/* Prints "max_size in 5m": when the limit is reached at the present rate. */
static void print_quota(struct json_object *remaining, const char *key, FILE *stream)
{
	char name[32], time[32];

	snprintf(name, sizeof(name), "%s_ns", key);
	if (member_of(remaining, name))
		fprintf(stream, "  at this rate, %s in %s\n", key,
			iotr_format_duration(time, sizeof(time), number_of(remaining, name)));
}

static void print_remaining(struct json_object *session, FILE *stream)
{
	struct json_object *remaining = member_of(session, "remaining");
	char time[32];

	if (member_of(remaining, "duration_ns"))
		fprintf(stream, "  ends in  %s\n",
			iotr_format_duration(time, sizeof(time),
					     number_of(remaining, "duration_ns")));
	print_quota(remaining, "max_size", stream);
	print_quota(remaining, "max_events", stream);
	print_quota(remaining, "keep_size", stream);
}

/* Prints "snapshot  filesystem: running, 12,345 rows". */
static void print_snapshots(struct json_object *session, FILE *stream)
{
	struct json_object *snapshots = member_of(session, "snapshots");
	char count[32];

	if (!json_object_is_type(snapshots, json_type_object))
		return;
	json_object_object_foreach(snapshots, kind, snapshot)
	{
		fputs("  snapshot ", stream);
		put_text(stream, kind);
		fputs(": ", stream);
		put_text(stream, text_of(snapshot, "state", "?"));
		if (number_of(snapshot, "rows"))
			fprintf(stream, ", %s rows",
				format_count(count, sizeof(count), number_of(snapshot, "rows")));
		if (member_of(snapshot, "message")) {
			fputs(": ", stream);
			put_text(stream, text_of(snapshot, "message", ""));
		}
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
	if (text_of(session, "reason", NULL)) {
		fputs(", ", stream);
		put_text(stream, text_of(session, "reason", ""));
	}
	putc('\n', stream);
	print_started(session, stream);
	print_line(session, "no start", "start_error", stream);
	print_line(session, "output", "output", stream);
	print_memory(session, stream);
	print_remaining(session, stream);
	print_triggers(session, stream);
	print_cost(session, stream);
	print_line(session, "level", "level", stream);
	print_line(session, "now by", "stand_in", stream);
	print_owner(session, stream);
	print_filters(session, stream);
	print_line(session, "unseen", "unseen", stream);
	print_limits(session, stream);
	print_files(session, stream);
	print_disk_errors(session, stream);
	print_gaps(session, stream);
	print_lacking(session, stream);
	print_losses(session, stream);
	print_line(session, "manifest", "manifest_error", stream);
	print_snapshots(session, stream);
	print_missing(session, stream);
	print_session_streams(session, stream);
}

bool complain_missing(struct json_object *session)
{
	struct json_object *missing = member_of(session, "missing");
	char text[1024];

	for (size_t i = 0; i < count_of(missing); i++)
		if (format_missing(text, sizeof(text), missing, i, false))
			complain(NULL, "not recorded: %s", text);
	return count_of(missing) > 0;
}
