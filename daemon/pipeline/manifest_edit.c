// SPDX-License-Identifier: GPL-2.0-or-later
/* The manifest of an ended session follows what becomes of its segments. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "manifest_file.h"
#include "schema.h"
#include "storage_private.h"

/* The NNNNNN of FOLDER/PREFIX_NNNNNN.csv. */
static unsigned int number_of(const char *path)
{
	const char *underline = path ? strrchr(path, '_') : NULL;

	return underline ? (unsigned int)strtoul(underline + 1, NULL, 10) : 0;
}

static const char *text_of(struct json_object *object, const char *key)
{
	return json_object_get_string(json_object_object_get(object, key)) ?: "";
}

static struct json_object *find_segment(struct json_object *manifest,
					const struct trace_change *change)
{
	struct json_object *segments = json_object_object_get(manifest, "segments");
	const char *flag = iotr_schemas[change->stream].flag;
	size_t count = json_object_is_type(segments, json_type_array)
			       ? json_object_array_length(segments)
			       : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *segment = json_object_array_get_idx(segments, i);

		if (number_of(text_of(segment, "path")) == change->number &&
		    !strcmp(text_of(segment, "stream"), flag))
			return segment;
	}
	return NULL;
}

static void set_u64(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

/* The stream has lost these rows to retention. */
static void add_removed(struct json_object *manifest, const struct trace_change *change,
			struct json_object *segment)
{
	struct json_object *streams = json_object_object_get(manifest, "streams");
	struct json_object *stream =
		json_object_object_get(streams, iotr_schemas[change->stream].flag);
	uint64_t rows = json_object_get_uint64(json_object_object_get(segment, "rows"));

	if (stream)
		set_u64(stream, "removed",
			json_object_get_uint64(json_object_object_get(stream, "removed")) + rows);
}

static void apply(struct json_object *manifest, const struct trace_change *change)
{
	struct json_object *segment = find_segment(manifest, change);
	const char *state = change->removed ? "removed" : "compressed";
	char path[2 * TRACE_NAME_MAX];

	if (!segment || !strcmp(text_of(segment, "state"), state))
		return;
	if (change->removed)
		add_removed(manifest, change, segment);
	else {
		snprintf(path, sizeof(path), "%.*s.gz", (int)sizeof(path) - 4,
			 text_of(segment, "path"));
		json_object_object_add(segment, "path", json_object_new_string(path));
	}
	json_object_object_add(segment, "state", json_object_new_string(state));
	set_u64(segment, "stored_bytes", change->stored);
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

int manifest_edit(struct trace *trace)
{
	_cleanup_close_ int folder = trace_open(trace);
	_cleanup_close_ int file = -1;
	_cleanup_json_ struct json_object *manifest = NULL;
	int error;

	if (folder >= 0)
		file = openat(folder, MANIFEST_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		return -errno;
	manifest = json_object_from_fd(file);
	if (!json_object_is_type(manifest, json_type_object))
		return -EBADMSG;
	error = collect_changes(trace);
	for (size_t i = 0; !error && i < trace->untold_count; i++)
		apply(manifest, &trace->untold[i]);
	error = error ?: manifest_file_replace_json(folder, trace, manifest);
	if (!error)
		trace_drop_untold(trace);
	return error;
}
