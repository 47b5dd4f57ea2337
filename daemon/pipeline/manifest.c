// SPDX-License-Identifier: GPL-2.0-or-later
#include "manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cleanup.h"
#include "digits.h"
#include "format_csv.h"
#include "schema.h"
#include "sink.h"

#define TEMPORARY_NAME MANIFEST_NAME ".tmp"
#define MODE	       0640

static void add_string(struct json_object *object, const char *key, const char *value)
{
	json_object_object_add(object, key, value ? json_object_new_string(value) : NULL);
}

static void add_u64(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

/* As the timestamp column has it, from CLOCK_MONOTONIC. */
static void add_time(struct json_object *object, const char *key, uint64_t mono_ns,
		     const struct clocks *clocks)
{
	struct cell cell = cell_number(CELL_TIME, mono_ns + (uint64_t)clocks->offset_ns);
	struct format_csv csv;
	char text[64];
	size_t length;

	format_csv_init(&csv);
	length = format_csv_row(&csv, &cell, 1, text);
	text[length - 1] = '\0';
	add_string(object, key, text);
}

static struct json_object *columns(const struct iotr_schema *schema)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < schema->column_count; i++) {
		const struct iotr_column *column = &schema->columns[i];
		struct json_object *object = json_object_new_object();

		add_string(object, "name", column->name);
		add_string(object, "type", iotr_type_name(column->type));
		add_string(object, "unit", column->unit);
		add_string(object, "doc", column->doc);
		json_object_array_add(array, object);
	}
	return array;
}

static struct json_object *constant_streams(uint32_t mask)
{
	struct json_object *object = json_object_new_object();

	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		struct json_object *description;

		if (!(mask & 1U << stream))
			continue;
		description = json_object_new_object();
		add_string(description, "folder", iotr_schemas[stream].folder);
		add_string(description, "doc", iotr_schemas[stream].doc);
		json_object_object_add(description, "columns", columns(&iotr_schemas[stream]));
		json_object_object_add(object, iotr_schemas[stream].flag, description);
	}
	return object;
}

static struct json_object *host(void)
{
	struct json_object *object = json_object_new_object();
	struct utsname names = { 0 };

	uname(&names);
	add_string(object, "name", names.nodename);
	add_string(object, "kernel", names.release);
	add_string(object, "kernel_version", names.version);
	add_string(object, "machine", names.machine);
	return object;
}

static struct json_object *clocks_object(const struct clocks *clocks)
{
	struct json_object *object = json_object_new_object();

	add_u64(object, "mono_ns", clocks->mono_ns);
	json_object_object_add(object, "realtime_offset_ns",
			       json_object_new_int64(clocks->offset_ns));
	return object;
}

static int add_copy(struct json_object *object, const char *key, struct json_object *source)
{
	struct json_object *copy = NULL;

	if (source && json_object_deep_copy(source, &copy, NULL) < 0)
		return -ENOMEM;
	return json_object_object_add(object, key, copy) < 0 ? -ENOMEM : 0;
}

int manifest_init(struct manifest *manifest, const struct manifest_config *config)
{
	_cleanup_json_ struct json_object *frame = json_object_new_object();

	add_u64(frame, "schema_version", MANIFEST_SCHEMA_VERSION);
	add_string(frame, "iotracer_version", IOTRACER_VERSION);
	add_string(frame, "session", config->session);
	add_u64(frame, "owner_uid", config->owner_uid);
	add_string(frame, "level", config->level);
	json_object_object_add(frame, "host", host());
	add_time(frame, "started", config->start.mono_ns, &config->start);
	if (add_copy(frame, "definition", config->definition) < 0 ||
	    add_copy(frame, "hooks", config->hooks) < 0)
		return -ENOMEM;
	json_object_object_add(frame, "streams", constant_streams(config->streams));
	manifest->folder_fd = config->folder_fd;
	manifest->streams = config->streams;
	manifest->start = config->start;
	manifest->constant = TAKE(frame);
	return 0;
}

void manifest_done(struct manifest *manifest)
{
	json_object_put(manifest->constant);
	json_object_put(manifest->snapshots);
	manifest->constant = NULL;
	manifest->snapshots = NULL;
}

void manifest_set_snapshots(struct manifest *manifest, struct json_object *snapshots)
{
	json_object_put(manifest->snapshots);
	manifest->snapshots = snapshots;
}

static void add_times(struct json_object *object, const struct segment *segment,
		      const struct clocks *clocks)
{
	if (!segment->rows)
		return;
	add_time(object, "first_time", segment->first_ns, clocks);
	add_time(object, "last_time", segment->last_ns, clocks);
	add_u64(object, "first_mono_ns", segment->first_ns);
	add_u64(object, "last_mono_ns", segment->last_ns);
}

static struct json_object *segment_object(const struct sink *sink, const struct segment *segment,
					  const struct clocks *clocks)
{
	const struct iotr_schema *schema = &iotr_schemas[sink->stream];
	struct json_object *object = json_object_new_object();
	char path[2 * SEGMENT_NAME_MAX];

	snprintf(path, sizeof(path), "%s/%s%s", schema->folder, segment->name,
		 segment->closed ? "" : ".part");
	add_string(object, "stream", schema->flag);
	add_string(object, "path", path);
	add_string(object, "state", segment->closed ? "closed" : "open");
	add_u64(object, "rows", segment->rows);
	add_u64(object, "bytes", segment->bytes);
	add_times(object, segment, clocks);
	add_string(object, "sha256", segment->sha256[0] ? segment->sha256 : NULL);
	return object;
}

static void add_segments(struct json_object *array, const struct sink *sink,
			 const struct clocks *clocks)
{
	const struct segment *segment;

	TAILQ_FOREACH (segment, &sink->segments, entry)
		json_object_array_add(array, segment_object(sink, segment, clocks));
}

static void add_counts(struct json_object *object, const struct manifest_stream *stream)
{
	struct json_object *lost = json_object_new_object();

	add_u64(object, "emitted", stream->emitted);
	add_u64(object, "missed", stream->missed);
	add_u64(object, "received", stream->received);
	add_u64(object, "written", atomic_load(&stream->sink->written));
	add_u64(object, "bytes", atomic_load(&stream->sink->bytes));
	add_u64(lost, "ring", stream->lost_ring);
	add_u64(lost, "queue", stream->lost_queue);
	add_u64(lost, "disk", atomic_load(&stream->sink->lost));
	add_u64(lost, "unmatched", stream->lost_unmatched);
	json_object_object_add(object, "lost", lost);
}

static void add_changing(struct json_object *object, const struct manifest *manifest,
			 const struct manifest_state *state)
{
	struct json_object *streams = json_object_object_get(object, "streams");
	struct json_object *clock = json_object_new_object();
	struct json_object *segments = json_object_new_array();

	add_string(object, "state", state->reason ? "ended" : "running");
	add_string(object, "reason", state->reason);
	if (state->reason)
		add_time(object, "ended", state->clocks.mono_ns, &state->clocks);
	json_object_object_add(clock, "start", clocks_object(&manifest->start));
	json_object_object_add(clock, "last", clocks_object(&state->clocks));
	json_object_object_add(object, "clock", clock);
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		const char *flag = iotr_schemas[stream].flag;

		if (!(manifest->streams & 1U << stream))
			continue;
		add_counts(json_object_object_get(streams, flag), &state->streams[stream]);
		add_segments(segments, state->streams[stream].sink, &state->clocks);
	}
	json_object_object_add(object, "segments", segments);
	if (manifest->snapshots)
		json_object_object_add(object, "snapshots", json_object_get(manifest->snapshots));
}

static int write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t written = write(fd, text, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -EIO;
		text += written;
		size -= (size_t)written;
	}
	return 0;
}

static int replace(int folder_fd, const char *text, size_t size)
{
	_cleanup_close_ int fd = -1;
	int error;

	if (unlinkat(folder_fd, TEMPORARY_NAME, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(folder_fd, TEMPORARY_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    MODE);
	if (fd < 0)
		return -errno;
	error = write_all(fd, text, size);
	if (!error && renameat(folder_fd, TEMPORARY_NAME, folder_fd, MANIFEST_NAME) < 0)
		error = -errno;
	if (error < 0)
		unlinkat(folder_fd, TEMPORARY_NAME, 0);
	return error;
}

int manifest_replace(int folder_fd, struct json_object *object)
{
	size_t size;
	const char *text = json_object_to_json_string_length(
		object,
		JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
			JSON_C_TO_STRING_NOSLASHESCAPE,
		&size);

	return text ? replace(folder_fd, text, size) : -ENOMEM;
}

void manifest_add_time(struct json_object *object, const char *key, uint64_t mono_ns,
		       const struct clocks *clocks)
{
	add_time(object, key, mono_ns, clocks);
}

int manifest_write(const struct manifest *manifest, const struct manifest_state *state)
{
	_cleanup_json_ struct json_object *object = NULL;

	if (json_object_deep_copy(manifest->constant, &object, NULL) < 0)
		return -ENOMEM;
	add_changing(object, manifest, state);
	return manifest_replace(manifest->folder_fd, object);
}
