// SPDX-License-Identifier: GPL-2.0-or-later
#include "verify/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "output/json.h"
#include "trace_file.h"

#define COLUMNS_MAX   256
#define COLUMN_MAX    64  /* bytes of a column's name */
#define STREAMS_MAX   64
#define WORD_MAX      64  /* bytes of the name of a folder or stream */

static bool wrong(struct verify_report *report, const char *where, const char *what)
{
	verify_say(report, VERIFY_WRONG, MANIFEST_NAME, "%s%s%s", where, *where ? ": " : "", what);
	return false;
}

/* ---- values ---- */

/* Gets a count. A missing one is 0, unless it is `needed`. */
static bool count(struct json_object *object, const char *key, bool needed, uint64_t *ret,
		  struct verify_report *report, const char *where)
{
	struct json_object *value = member_of(object, key);

	*ret = json_object_get_uint64(value);
	if (!value && !needed)
		return true;
	if (json_object_is_type(value, json_type_int) && *ret < INT64_MAX &&
	    json_object_get_int64(value) >= 0)
		return true;
	verify_say(report, VERIFY_WRONG, MANIFEST_NAME, "%s: %s is not a count", where, key);
	return false;
}

/*
 * Whether the text consists of letters, digits, '_', '-' and '.', the first not a '.': so it cannot be a path
 * that leads elsewhere.
 */
static bool is_word(const char *word)
{
	size_t length = word ? strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					    "0123456789_-.") : 0;

	return length && length <= WORD_MAX && !word[length] && *word != '.';
}

/* ---- streams ---- */

static size_t write_header(struct verify_stream *stream)
{
	char *at = stream->header;

	for (size_t i = 0; i < stream->columns.count; i++) {
		at = stpcpy(at, stream->names[i]);
		*at++ = ',';
	}
	at[-1] = '\n';
	return (size_t)(at - stream->header);
}

static bool take_columns(struct verify_stream *stream, struct json_object *array)
{
	size_t columns = json_object_is_type(array, json_type_array) ?
				 json_object_array_length(array) : 0;

	if (columns < 2 || columns > COLUMNS_MAX)
		return false;
	stream->names = calloc(columns, sizeof(*stream->names));
	stream->header = malloc(columns * (COLUMN_MAX + 1) + 1);
	if (!stream->names || !stream->header)
		return false;
	for (size_t i = 0; i < columns; i++) {
		const char *name = string_of(json_object_array_get_idx(array, i), "name");

		if (!is_word(name))
			return false;
		stream->names[i] = name;
	}
	stream->columns = (struct trace_columns){ .names = stream->names, .count = columns,
						  .header = stream->header };
	stream->columns.header_size = write_header(stream);
	return !strcmp(stream->names[0], "timestamp") &&
	       !strcmp(stream->names[columns - 1], "mono_ns");
}

static bool take_lost(struct verify_stream *stream, struct json_object *lost,
		      struct verify_report *report)
{
	if (!json_object_is_type(lost, json_type_object))
		return wrong(report, stream->flag, "there is no 'lost'");
	json_object_object_foreach(lost, key, value) {
		uint64_t rows;

		(void)value;
		if (!count(lost, key, true, &rows, report, stream->flag))
			return false;
		if (!strcmp(key, VERIFY_LOST_NAMES))
			stream->lost_names = rows;
		else
			stream->lost += rows;
	}
	stream->lost_by = lost;
	return true;
}

static bool take_stream(struct verify_stream *stream, const char *flag, struct json_object *object,
			struct verify_report *report)
{
	stream->flag = flag;
	stream->object = object;
	stream->folder = string_of(object, "folder");
	if (!is_word(flag) || !is_word(stream->folder))
		return wrong(report, "streams", "a name is invalid");
	if (!take_columns(stream, member_of(object, "columns")))
		return wrong(report, flag, "the columns are not those of a trace");
	stream->unknown = json_object_get_boolean(member_of(object, "emitted_unknown"));
	return count(object, "emitted", true, &stream->emitted, report, flag) &&
	       count(object, "written", true, &stream->written, report, flag) &&
	       count(object, "removed", false, &stream->removed, report, flag) &&
	       count(object, "missed", false, &stream->missed, report, flag) &&
	       count(object, "unfollowed", false, &stream->unfollowed, report, flag) &&
	       count(object, "forgotten", false, &stream->forgotten, report, flag) &&
	       take_lost(stream, member_of(object, "lost"), report);
}

static bool take_streams(struct verify_trace *trace, struct verify_report *report)
{
	struct json_object *streams = member_of(trace->json, "streams");
	bool good = json_object_is_type(streams, json_type_object);
	size_t streams_there = good ? (size_t)json_object_object_length(streams) : 0;

	/* A folder that was made for snapshots has no streams. */
	if (!good || (!streams_there && !count_of(member_of(trace->json, "snapshots"))) ||
	    streams_there > STREAMS_MAX)
		return wrong(report, "", "it has no streams");
	trace->streams = calloc(streams_there + 1, sizeof(*trace->streams));
	if (!trace->streams)
		return wrong(report, "", strerror(ENOMEM));
	json_object_object_foreach(streams, flag, object)
		good &= take_stream(&trace->streams[trace->stream_count++], flag, object, report);
	return good;
}

static struct verify_stream *find_stream(const struct verify_trace *trace, const char *flag)
{
	for (size_t i = 0; flag && i < trace->stream_count; i++)
		if (!strcmp(trace->streams[i].flag, flag))
			return &trace->streams[i];
	return NULL;
}

/* ---- segments ---- */

/* Accepts only FOLDER/NAME with the folder of the stream. */
static bool take_path(struct verify_segment *segment, const char *path)
{
	const char *folder = segment->stream->folder;
	size_t length = strlen(folder);
	struct segment_name name;

	if (!path || strncmp(path, folder, length) || path[length] != '/' ||
	    !segment_name_parse(folder, path + length + 1, &name))
		return false;
	strcpy(segment->name, name.name);
	strcpy(stpcpy(stpcpy(segment->path, folder), "/"), name.name);
	segment->format = name.format;
	return true;
}

static bool take_state(struct verify_segment *segment, const char *state)
{
	static const char *const states[] = { "open", "closed", "compressed", "removed" };

	for (size_t i = 0; state && i < sizeof(states) / sizeof(states[0]); i++)
		if (!strcmp(states[i], state)) {
			segment->state = (enum verify_state)i;
			return true;
		}
	return false;
}

static bool take_times(struct verify_segment *segment, struct json_object *object,
		       struct verify_report *report)
{
	segment->has_times = member_of(object, "first_mono_ns") != NULL;
	if (!segment->has_times && segment->rows)
		return wrong(report, segment->path, "it has rows, but no times");
	return count(object, "first_mono_ns", segment->has_times, &segment->first_ns, report,
		     segment->path) &&
	       count(object, "last_mono_ns", segment->has_times, &segment->last_ns, report,
		     segment->path);
}

static bool take_segment(struct verify_trace *trace, struct json_object *object,
			 struct verify_report *report)
{
	struct verify_segment *segment = &trace->segments[trace->segment_count];

	segment->stream = find_stream(trace, string_of(object, "stream"));
	if (!segment->stream)
		return wrong(report, "segments", "one is of a stream that the session does not have");
	if (!take_path(segment, string_of(object, "path")))
		return wrong(report, string_of(object, "path") ?: "segments",
			     "it is not the path of a segment");
	if (!take_state(segment, string_of(object, "state")))
		return wrong(report, segment->path, "its state is unknown");
	if (!count(object, "rows", true, &segment->rows, report, segment->path) ||
	    !count(object, "bytes", true, &segment->bytes, report, segment->path) ||
	    !take_times(segment, object, report))
		return false;
	snprintf(segment->xxh128, sizeof(segment->xxh128), "%s", string_of(object, "xxh128") ?: "");
	snprintf(segment->sha256, sizeof(segment->sha256), "%s", string_of(object, "sha256") ?: "");
	snprintf(segment->stored_sha256, sizeof(segment->stored_sha256), "%s", string_of(object, "stored_sha256") ?: "");
	if (segment->state != VERIFY_REMOVED)
		segment->stream->rows += segment->rows;
	trace->segment_count++;
	return true;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct verify_segment *)a)->path,
		      ((const struct verify_segment *)b)->path);
}

static void sort_segments(struct verify_trace *trace, struct verify_report *report)
{
	struct verify_segment *segments = trace->segments;

	qsort(segments, trace->segment_count, sizeof(*segments), compare);
	for (size_t i = 1; i < trace->segment_count; i++)
		if (!compare(&segments[i - 1], &segments[i]))
			wrong(report, segments[i].path, "it is listed twice");
}

/* Makes room for one more segment, whose fields are 0. */
static bool grow(struct verify_trace *trace, size_t *room, struct verify_report *report)
{
	size_t wanted = *room + *room / 4 + 64;
	struct verify_segment *segments;

	if (trace->segment_count == *room) {
		segments = reallocarray(trace->segments, wanted, sizeof(*segments));
		if (!segments)
			return wrong(report, "", strerror(ENOMEM));
		trace->segments = segments;
		*room = wanted;
	}
	memset(&trace->segments[trace->segment_count], 0, sizeof(*trace->segments));
	return true;
}

static void take_segments(struct verify_trace *trace, struct verify_report *report)
{
	struct json_object *object;
	size_t room = 0;
	int r = 0;

	if (!trace->reader.list) {
		wrong(report, "", "it has no list of segments");
		return;
	}
	while (grow(trace, &room, report) && (r = manifest_reader_next(&trace->reader, &object)) > 0) {
		take_segment(trace, object, report);
		json_object_put(object);
	}
	if (r < 0)
		wrong(report, "segments", "it is not JSON, or damaged");
	if (trace->segments)
		sort_segments(trace, report);
}

/* ---- the whole ---- */

/* Who gives the folder of a stream means the trace in which it lies. */
static const char *why_none(const struct verify_trace *trace)
{
	return faccessat(trace->folder_fd, "../" MANIFEST_NAME, F_OK, 0) ? "it does not exist: this is not a trace" :
									 "it does not exist: the trace is the folder above";
}

/* Opens the manifest's file, with a reader for its segments. */
static bool load(struct verify_trace *trace, struct verify_report *report)
{
	struct trace_file file;
	int r = trace_file_open(trace->folder_fd, MANIFEST_NAME, &file);

	if (r < 0)
		return wrong(report, "", r == -ENOENT ? why_none(trace) : verify_file_error(r));
	if (file.size <= MANIFEST_MAX)
		r = manifest_reader_init(&trace->reader, take_fd(&file.fd), &trace->json);
	else
		r = -EFBIG;
	trace_file_close(&file);
	if (r < 0)
		return wrong(report, "", r == -EBADMSG ? "it is not JSON, or damaged" :
					 r == -EFBIG   ? "it is larger than " MANIFEST_MAX_TEXT
							 ", or has more than 16 MiB beside the segments" :
							 strerror(-r));
	return true;
}

static bool take_state_of_trace(struct verify_trace *trace, struct verify_report *report)
{
	const char *state = string_of(trace->json, "state");

	trace->running = state && !strcmp(state, "running");
	if (!trace->running && !(state && !strcmp(state, "ended")))
		return wrong(report, "", "its state is neither running nor ended");
	return true;
}

bool verify_manifest_read(struct verify_trace *trace, struct verify_report *report)
{
	uint64_t schema;

	if (!load(trace, report) || !count(trace->json, "schema_version", true, &schema, report, "trace"))
		return false;
	if (schema < MANIFEST_SCHEMA_FIRST || schema > MANIFEST_SCHEMA)
		return wrong(report, "schema_version", "this iotracectl knows 1 to 3 only, a newer one may know it");
	if (!take_state_of_trace(trace, report) || !take_streams(trace, report))
		return false;
	take_segments(trace, report);
	return true;
}
