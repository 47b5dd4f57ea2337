// SPDX-License-Identifier: GPL-2.0-or-later
/* Updates the manifest of an ended session when its segments are compressed or removed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "json_add.h"
#include "json_read.h"
#include "manifest_file.h"
#include "schema.h"
#include "segment_name.h"
#include "storage_private.h"

/* Finds which segment the object describes. False: none. */
static bool identify(struct json_object *segment, int *stream, unsigned int *number)
{
	const char *slash = strrchr(text_of(segment, "path", ""), '/');
	struct segment_name name;

	*stream = iotr_stream_find(text_of(segment, "stream", ""));
	if (*stream < 0 || !slash || !segment_name_parse(iotr_schemas[*stream].folder, slash + 1, &name))
		return false;
	*number = name.number;
	return true;
}

/* Counts the segment's rows as removed by retention. Nothing is stored any more. */
static void set_removed(struct json_object *manifest, const struct trace_change *change,
			struct json_object *segment)
{
	struct json_object *streams = json_object_object_get(manifest, "streams");
	struct json_object *stream =
		json_object_object_get(streams, iotr_schemas[change->stream].flag);
	uint64_t rows = json_object_get_uint64(json_object_object_get(segment, "rows"));

	if (stream) {
		add_u64(stream, "removed", number_of(stream, "removed") + rows);
		iotr_removal_add(stream, change->limit, rows, 1);
	}
	add_string(segment, "removed_by", iotr_removal_keys[change->limit]);
	json_object_object_del(segment, "stored_sha256");
}

static void set_compressed(struct json_object *segment, const struct trace_change *change)
{
	char path[2 * SEGMENT_FILE_MAX], sha256[SHA256_HEX_SIZE];

	snprintf(path, sizeof(path), "%s%s", text_of(segment, "path", ""), segment_endings[SEGMENT_PACKED]);
	add_string(segment, "path", path);
	sha256_format(change->stored_sha256, sha256);
	add_string(segment, "stored_sha256", sha256);
}

/* Applies the change to the segment. False: the manifest has it already. */
static bool apply(struct json_object *manifest, struct json_object *segment, const struct trace_change *change)
{
	const char *state = change->removed ? "removed" : "compressed";

	if (!strcmp(text_of(segment, "state", ""), state))
		return false;
	if (change->removed)
		set_removed(manifest, change, segment);
	else
		set_compressed(segment, change);
	add_string(segment, "state", state);
	add_u64(segment, "stored_bytes", change->stored);
	return true;
}

void trace_drop_untold(struct trace *trace)
{
	free(trace->untold);
	trace->untold = NULL;
	trace->untold_count = 0;
}

static int collect_changes(struct trace *trace)
{
	while (trace_has_changes(trace)) {
		size_t count = trace->untold_count;
		struct trace_change *untold =
			reallocarray(trace->untold, count + 1, sizeof(*untold));

		if (!untold)
			return -ENOMEM;
		trace->untold = untold;
		trace->untold_count += trace_next_change(trace, &untold[count]);
	}
	return 0;
}

static bool apply_all(const struct trace *trace, struct json_object *manifest, struct json_object *segment)
{
	unsigned int number;
	bool changed = false;
	int stream;

	if (!identify(segment, &stream, &number))
		return false;
	for (size_t i = 0; i < trace->untold_count; i++)
		if ((int)trace->untold[i].stream == stream && trace->untold[i].number == number)
			changed |= apply(manifest, segment, &trace->untold[i]);
	return changed;
}

/* Segments that do not change are copied as text and not made anew, as there may be very many. */
static int edit_segments(const struct trace *trace, struct json_object *manifest, struct manifest_reader *reader,
			 struct manifest_segments *segments)
{
	struct json_object *segment;
	int r;

	while ((r = manifest_reader_next(reader, &segment)) > 0) {
		if (apply_all(trace, manifest, segment))
			manifest_segments_add_json(segments, segment);
		else
			manifest_segments_add(segments, reader->text, reader->size);
		json_object_put(segment);
	}
	return r;
}

int manifest_edit(struct trace *trace)
{
	_cleanup_close_ int folder = trace_open(trace);
	_cleanup_(manifest_reader_done) struct manifest_reader reader = { 0 };
	_cleanup_(manifest_segments_done) struct manifest_segments segments = { 0 };
	_cleanup_json_ struct json_object *manifest = NULL;
	int error;

	error = folder < 0 ? folder : manifest_file_load(folder, &reader, &manifest);
	error = error ?: collect_changes(trace);
	error = error ?: edit_segments(trace, manifest, &reader, &segments);
	error = error ?: manifest_file_replace(folder, trace, manifest, &segments, NULL);
	if (!error)
		trace_drop_untold(trace);
	return error;
}
