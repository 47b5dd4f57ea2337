// SPDX-License-Identifier: GPL-2.0-or-later
/* The engine's state as JSON: sessions, streams, hooks, checks. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "definition.h"
#include "engine_internal.h"
#include "pipeline/clocks.h"
#include "schema.h"

void add_time(struct json_object *object, const char *key, const struct timespec *time)
{
	char text[32];
	struct tm utc;

	gmtime_r(&time->tv_sec, &utc);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
	add_string(object, key, text);
}

void add_mono_time(struct json_object *object, const char *key, uint64_t mono_ns)
{
	uint64_t real_ns = mono_ns + (uint64_t)clocks_measure().offset_ns;

	add_time(object, key, &(struct timespec){ .tv_sec = (time_t)(real_ns / 1000000000) });
}

void add_lost(struct json_object *object, const struct probes_loss *loss, uint64_t queue,
	      uint64_t disk)
{
	struct json_object *lost = json_object_new_object();

	add_u64(lost, "ring", loss->ring);
	add_u64(lost, "queue", queue);
	add_u64(lost, "disk", disk);
	add_u64(lost, "unmatched", loss->unmatched);
	json_object_object_add(object, "lost", lost);
}

/*
 * Rows on their way between kernel and file: emitted = written + lost + pending at any instant,
 * and none is pending once the session has ended. The writer's counters are read before the
 * kernel's: a row is emitted before it is written.
 */
static uint64_t rows_pending(const struct writer_counts *counts, const struct probes_loss *loss)
{
	uint64_t done = counts->written + counts->lost_queue + counts->lost_disk + loss->ring +
			loss->unmatched;

	return loss->emitted > done ? loss->emitted - done : 0;
}

static struct json_object *stream_status(const struct session *session, enum iotr_stream stream)
{
	struct json_object *object = json_object_new_object();
	struct writer_counts counts = { 0 };
	struct probes_loss loss;
	char path[PATH_MAX + 32];

	if (session->writer)
		writer_counts(session->writer, stream, &counts);
	session_loss(session, stream, &loss);
	loss.emitted -= counts.refused;
	add_u64(object, "emitted", loss.emitted);
	add_u64(object, "written", counts.written);
	add_lost(object, &loss, counts.lost_queue, counts.lost_disk);
	add_u64(object, "removed", counts.removed);
	add_u64(object, "missed", session_missed(session, stream));
	add_u64(object, "pending", rows_pending(&counts, &loss));
	add_u64(object, "bytes", counts.bytes);
	add_u64(object, "segments", counts.segments);
	if (counts.error)
		add_string(object, "error", strerror(-counts.error));
	snprintf(path, sizeof(path), "%s/%s", session->output, iotr_schemas[stream].folder);
	add_string(object, "path", path);
	return object;
}

static const char *state_of(const struct session *session)
{
	if (!session->reason)
		return session->begun ? "running" : "starting";
	return session->written ? "ended" : "ending";
}

/* What the disk did not take. */
static void disk_describe(const struct session *session, struct json_object *status)
{
	struct json_object *errors = writer_disk_errors(session->writer);
	int error = writer_manifest_error(session->writer);

	json_object_object_add(status, "disk_errors", errors);
	if (error)
		add_string(status, "manifest_error", strerror(-error));
}

struct json_object *session_status(const struct session *session)
{
	struct json_object *status = json_object_new_object(), *streams = json_object_new_object();

	add_string(status, "name", session->spec.name);
	add_string(status, "state", state_of(session));
	if (session->reason)
		add_string(status, "reason", session->reason);
	add_time(status, "started", &session->started);
	if (session->recorder)
		json_object_object_add(status, "flight_recorder", recorder_describe(session));
	else if (session->begun || !session->reason)
		add_string(status, "output", session->output);
	add_string(status, "level", level_name(probes_level(session->engine->probes)));
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (session->spec.streams >> stream & 1)
			json_object_object_add(streams, iotr_schemas[stream].flag,
					       session->recorder ?
						       recorder_stream_status(session, stream) :
						       stream_status(session, stream));
	json_object_object_add(status, "streams", streams);
	json_object_object_add(status, "filters", anonymize_filters(session, definition_filters(&session->spec)));
	definition_add_limits(status, &session->spec);
	if (session->spec.anonymize)
		add_flag(status, "anonymize", true);
	if (session->writer) {
		disk_describe(session, status);
		session_add_storage(status, session);
		json_object_object_add(status, "snapshots", session_snapshots_status(session));
	}
	json_object_object_add(status, "missing", json_object_get(session->missing));
	add_u64(status, "owner_uid", session->owner_uid);
	if (session_runs(session))
		rates_describe(session, status);
	return status;
}

int engine_status(struct engine *engine, const char *name, struct json_object **ret)
{
	_cleanup_json_ struct json_object *sessions = json_object_new_array();

	for (size_t i = 0; i < engine->ended_count; i++) {
		const char *of = json_object_get_string(json_object_object_get(engine->ended[i], "name"));

		if ((!name || !strcmp(of, name)) && !engine_find(engine, of))
			json_object_array_add(sessions, json_object_get(engine->ended[i]));
	}
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i] && (!name || !strcmp(engine->sessions[i]->spec.name, name)))
			json_object_array_add(sessions, session_status(engine->sessions[i]));
	if (name && !json_object_array_length(sessions))
		return -ENOENT;
	*ret = TAKE(sessions);
	return 0;
}

/* ---- hooks ---- */

static void operation_missing(const struct engine *engine, enum iotr_stream stream, size_t operation,
			      struct json_object *missing)
{
	struct json_object *entry;
	const char *reason;

	if (probes_hook(engine->probes, stream, operation, &reason))
		return;
	entry = json_object_new_object();
	add_string(entry, "stream", iotr_schemas[stream].flag);
	add_string(entry, "operation", iotr_schemas[stream].operations[operation]);
	add_string(entry, "reason", reason);
	json_object_array_add(missing, entry);
}

struct json_object *missing_describe(const struct engine *engine, uint32_t streams)
{
	struct json_object *missing = json_object_new_array();

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		for (size_t i = 0; streams >> stream & 1 && i < iotr_schemas[stream].operation_count; i++)
			operation_missing(engine, stream, i, missing);
	return missing;
}

static struct json_object *operations_describe(const struct engine *engine, enum iotr_stream stream)
{
	struct json_object *operations = json_object_new_array();

	for (size_t i = 0; i < iotr_schemas[stream].operation_count; i++) {
		struct json_object *entry = json_object_new_object();
		const char *reason, *hook = probes_hook(engine->probes, stream, i, &reason);

		add_string(entry, "name", iotr_schemas[stream].operations[i]);
		add_string(entry, hook ? "hook" : "reason", hook ?: reason);
		json_object_array_add(operations, entry);
	}
	return operations;
}

struct json_object *hooks_describe(const struct engine *engine, uint32_t streams)
{
	struct json_object *hooks = json_object_new_object();

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (streams >> stream & 1)
			json_object_object_add(hooks, iotr_schemas[stream].flag,
					       operations_describe(engine, stream));
	return hooks;
}

static struct json_object *columns_describe(const struct iotr_schema *schema)
{
	struct json_object *columns = json_object_new_array();

	for (size_t i = 0; i < schema->column_count; i++) {
		struct json_object *column = json_object_new_object();

		add_string(column, "name", schema->columns[i].name);
		add_string(column, "type", iotr_type_name(schema->columns[i].type));
		add_string(column, "unit", schema->columns[i].unit);
		add_string(column, "doc", schema->columns[i].doc);
		json_object_array_add(columns, column);
	}
	return columns;
}

int engine_streams(struct engine *engine, struct json_object **ret)
{
	struct json_object *streams = json_object_new_array();

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		struct json_object *entry = json_object_new_object();

		add_string(entry, "flag", iotr_schemas[stream].flag);
		add_string(entry, "folder", iotr_schemas[stream].folder);
		add_string(entry, "doc", iotr_schemas[stream].doc);
		json_object_object_add(entry, "operations", operations_describe(engine, stream));
		json_object_object_add(entry, "columns", columns_describe(&iotr_schemas[stream]));
		json_object_array_add(streams, entry);
	}
	*ret = streams;
	return 0;
}
