// SPDX-License-Identifier: GPL-2.0-or-later
#include "manifest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "anonymize_manifest.h"
#include "cleanup.h"
#include "host_name.h"
#include "json_add.h"
#include "json_memory.h"
#include "losses.h"
#include "schema.h"
#include "sink.h"

#define NS_PER_BYTE 1000 /* limits the manifests' bytes to a megabyte a second, over time */

/* Adds a wall-clock time, as the timestamp column has it. */
static void add_realtime(struct json_object *object, const char *key, uint64_t realtime_ns)
{
	char text[CLOCKS_TEXT_MAX];

	add_string(object, key, clocks_format(text, realtime_ns));
}

void manifest_add_time(struct json_object *object, const char *key, uint64_t mono_ns,
		       const struct clocks *clocks)
{
	add_realtime(object, key, mono_ns + (uint64_t)clocks->offset_ns);
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
	char name[HOST_NAME_SIZE];
	struct utsname names = { 0 };

	host_name(name);
	uname(&names);
	add_string(object, "name", name);
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

	if (!frame)
		return -ENOMEM;
	json_lacks(); /* what was missing before is of something else */
	add_u64(frame, "schema_version", MANIFEST_SCHEMA);
	add_string(frame, "iotracer_version", IOTRACER_VERSION);
	add_string(frame, "session", config->session);
	add_u64(frame, "owner_uid", config->owner_uid);
	add_string(frame, "level", config->level);
	add_string(frame, "format", config->format);
	json_object_object_add(frame, "host", host());
	add_flag(frame, "removals_marked", true); /* see segment_mark.h */
	manifest_add_time(frame, "started", config->start.mono_ns, &config->start);
	if (add_copy(frame, "definition", config->definition) < 0 ||
	    add_copy(frame, "hooks", config->hooks) < 0)
		return -ENOMEM;
	json_object_object_add(frame, "streams", constant_streams(config->streams));
	if (json_lacks())
		return -ENOMEM;
	if (config->anonymize_key && iotr_anonymizer_new(config->anonymize_key, &manifest->anonymizer) < 0)
		return -ENOMEM;
	manifest->folder_fd = config->folder_fd;
	manifest->trace = config->trace;
	manifest->streams = config->streams;
	manifest->start = config->start;
	manifest->constant = TAKE(frame);
	return 0;
}

void manifest_done(struct manifest *manifest)
{
	json_object_put(manifest->constant);
	json_object_put(manifest->snapshots);
	json_object_put(manifest->cgroups);
	manifest->constant = NULL;
	manifest->cgroups = NULL;
	iotr_anonymizer_free(manifest->anonymizer);
	manifest->anonymizer = NULL;
	manifest->snapshots = NULL;
}

void manifest_set_snapshots(struct manifest *manifest, struct json_object *snapshots)
{
	json_object_put(manifest->snapshots);
	manifest->snapshots = snapshots;
}

void manifest_set_cgroups(struct manifest *manifest, struct json_object *cgroups)
{
	json_object_put(manifest->cgroups);
	manifest->cgroups = cgroups;
}

void manifest_set(struct manifest *manifest, const char *key, struct json_object *value)
{
	json_object_object_add(manifest->constant, key, value);
}

int manifest_redefine(struct manifest *manifest, struct json_object *definition, const struct clocks *when)
{
	_cleanup_json_ struct json_object *change = json_object_new_object();
	struct json_object *changes;

	manifest_add_time(change, "time", when->mono_ns, when);
	add_u64(change, "mono_ns", when->mono_ns);
	if (json_object_object_add(change, "definition", definition) < 0) {
		json_object_put(definition);
		return -ENOMEM;
	}
	if (!json_object_object_get_ex(manifest->constant, "changes", &changes)) {
		changes = json_object_new_array();
		json_object_object_add(manifest->constant, "changes", changes);
	}
	return json_object_array_add(changes, TAKE(change)) < 0 ? -ENOMEM : 0;
}

static void add_times(struct json_object *object, const struct segment *segment)
{
	if (!segment->rows)
		return;
	add_realtime(object, "first_time", segment->first_realtime_ns);
	add_realtime(object, "last_time", segment->last_realtime_ns);
	add_u64(object, "first_mono_ns", segment->first_ns);
	add_u64(object, "last_mono_ns", segment->last_ns);
}

static const char *state_of(const struct segment *segment)
{
	if (segment->removed)
		return "removed";
	if (segment->compressed)
		return "compressed";
	return segment->closed ? "closed" : "open";
}

static struct json_object *segment_object(const struct sink *sink, const struct segment *segment)
{
	const struct iotr_schema *schema = &iotr_schemas[sink->stream];
	struct json_object *object = json_object_new_object();
	enum segment_ending ending = segment->compressed ? SEGMENT_PACKED :
				     segment->closed	 ? SEGMENT_PLAIN :
							   SEGMENT_PART;
	char path[2 * SEGMENT_FILE_MAX], sha256[SHA256_HEX_SIZE];

	snprintf(path, sizeof(path), "%s/%s%s", schema->folder, segment->name, segment_endings[ending]);
	add_string(object, "stream", schema->flag);
	add_string(object, "path", path);
	add_string(object, "state", state_of(segment));
	add_u64(object, "rows", segment->rows);
	add_u64(object, "bytes", segment->bytes);
	add_u64(object, "stored_bytes",
		segment->removed ? 0 : segment->compressed ? segment->stored : segment->bytes);
	add_times(object, segment);
	if (segment->removed)
		add_string(object, "removed_by", iotr_removal_keys[segment->limit]);
	add_string(object, "xxh128", segment->closed ? segment->xxh128 : NULL);
	if (segment->compressed && !segment->removed) {
		sha256_format(segment->stored_sha256, sha256);
		add_string(object, "stored_sha256", sha256);
	}
	return object;
}

static void add_counts(struct json_object *object, const struct manifest_stream *stream)
{
	struct json_object *lost = json_object_new_object();

	add_u64(object, "emitted", stream->emitted);
	add_u64(object, "missed", stream->missed);
	add_u64(object, "unfollowed", stream->unfollowed);
	if (stream->sink->stream == IOTR_BLOCK)
		add_u64(object, "forgotten", stream->forgotten);
	add_u64(object, "received", stream->received);
	add_u64(object, "written", atomic_load(&stream->sink->written));
	add_u64(object, "bytes", atomic_load(&stream->sink->bytes));
	for (enum loss_cause cause = 0; cause < LOSS_CAUSES; cause++)
		add_u64(lost, loss_names[cause], stream->lost ? stream->lost[cause] : 0);
	add_u64(lost, "names", stream->lost_names);
	json_object_object_add(object, "lost", lost);
	add_u64(object, "removed", atomic_load(&stream->sink->removed));
	sink_describe_removed(stream->sink, object);
}

/* Adds the snapshots, and the table of cgroups, to a list of their own. */
static void add_snapshots(struct json_object *object, const struct manifest *manifest)
{
	struct json_object *list;
	size_t count = manifest->snapshots ? json_object_array_length(manifest->snapshots) : 0;

	if (!manifest->snapshots && !manifest->cgroups)
		return;
	list = json_object_new_array();
	for (size_t i = 0; i < count; i++)
		json_object_array_add(list, json_object_get(json_object_array_get_idx(manifest->snapshots, i)));
	if (manifest->cgroups)
		json_object_array_add(list, json_object_get(manifest->cgroups));
	json_object_object_add(object, "snapshots", list);
}

static void add_changing(struct json_object *object, const struct manifest *manifest,
			 const struct manifest_state *state)
{
	struct json_object *streams = json_object_object_get(object, "streams");
	struct json_object *clock = json_object_new_object();

	add_string(object, "state", state->reason ? "ended" : "running");
	add_string(object, "reason", state->reason);
	if (state->reason)
		manifest_add_time(object, "ended", state->clocks.mono_ns, &state->clocks);
	json_object_object_add(clock, "start", clocks_object(&manifest->start));
	json_object_object_add(clock, "last", clocks_object(&state->clocks));
	json_object_object_add(object, "clock", clock);
	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		const char *flag = iotr_schemas[stream].flag;

		if (!(manifest->streams & 1U << stream))
			continue;
		add_counts(json_object_object_get(streams, flag), &state->streams[stream]);
	}
	if (state->losses)
		json_object_object_add(object, "losses", json_object_get(state->losses));
	json_object_object_add(object, "disk_errors", json_object_get(state->disk_errors));
	add_snapshots(object, manifest);
}

/* Adds the segment's line, which is made once when the segment is complete. */
static int put_segment(struct manifest_segments *segments, const struct sink *sink, struct segment *segment)
{
	_cleanup_json_ struct json_object *object = NULL;
	const char *text = segment->text;

	if (!text) {
		size_t size;

		object = segment_object(sink, segment);
		text = manifest_segment_text(object, &size);
		if (json_lacks())
			return -ENOMEM;
		if (text && segment->closed)
			segment->text = strdup(text);
	}
	if (!text)
		return -ENOMEM;
	manifest_segments_add(segments, text, strlen(text));
	return 0;
}

static int put_segments(struct manifest_segments *segments, const struct manifest *manifest,
			const struct manifest_state *state)
{
	struct segment *segment;

	for (int stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		const struct sink *sink;

		if (!(manifest->streams & 1U << stream))
			continue;
		sink = state->streams[stream].sink;
		TAILQ_FOREACH (segment, &sink->segments, entry)
			if (put_segment(segments, sink, segment) < 0)
				return -ENOMEM;
	}
	return 0;
}

int manifest_write(struct manifest *manifest, const struct manifest_state *state)
{
	_cleanup_json_ struct json_object *frame = NULL, *anonymized = NULL;
	_cleanup_(manifest_segments_done) struct manifest_segments segments = { 0 };
	int error;

	manifest->written_ns = clocks_mono_ns();
	json_lacks(); /* what was missing before is of something else */
	if (json_object_deep_copy(manifest->constant, &frame, NULL) < 0)
		return -ENOMEM;
	add_changing(frame, manifest, state);
	if (json_lacks())
		return -ENOMEM;
	if (manifest->anonymizer &&
	    iotr_anonymize_manifest(manifest->anonymizer, frame, &anonymized) < 0)
		return -ENOMEM;
	error = put_segments(&segments, manifest, state);
	return error < 0 ? error : manifest_file_replace(manifest->folder_fd, manifest->trace, anonymized ?: frame,
							 &segments, &manifest->size);
}

int manifest_sync(const struct manifest *manifest)
{
	return manifest_file_sync(manifest->folder_fd);
}

uint64_t manifest_next_ns(const struct manifest *manifest)
{
	return manifest->written_ns + manifest->size * NS_PER_BYTE;
}

void manifest_remove(const struct manifest *manifest)
{
	manifest_file_remove(manifest->folder_fd);
}
