// SPDX-License-Identifier: GPL-2.0-or-later
/* The engine's state as JSON: sessions, streams, hooks, checks. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "engine_open.h"
#include "pipeline/clocks.h"
#include "probes/calls.h"
#include "schema.h"
#include "spec/definition.h"

#define LOSSES_TOLD 16 /* the latest ones; the manifest has more */

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
	uint64_t real_ns = mono_ns + (uint64_t)clocks_at(mono_ns).offset_ns;

	add_time(object, key, &(struct timespec){ .tv_sec = (time_t)(real_ns / 1000000000) });
}

void add_lost(struct json_object *object, const struct probes_loss *loss, uint64_t queue,
	      uint64_t disk, uint64_t names)
{
	struct json_object *lost = json_object_new_object();

	add_u64(lost, "ring", loss->ring);
	add_u64(lost, "queue", queue);
	add_u64(lost, "disk", disk);
	add_u64(lost, "unmatched", loss->unmatched);
	add_u64(lost, "names", names);
	json_object_object_add(object, "lost", lost);
}

/*
 * Number of rows that are between kernel and file: emitted = written + lost + pending at any instant, and none
 * is pending once the session has ended. The writer's counters are read before the kernel's, as a row is
 * emitted before it is written.
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
	add_lost(object, &loss, counts.lost_queue, counts.lost_disk, counts.lost_names);
	add_u64(object, "removed", counts.removed);
	add_u64(object, "missed", session_missed(session, stream));
	add_u64(object, "unfollowed", session_unfollowed(session));
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

/* Adds the errors of the disk. */
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
	if (session->opening)
		opening_describe_trouble(session->opening, status);
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
		json_object_object_add(status, "snapshots",
				       anonymize_snapshots(session, schedule_status(session->snapshots)));
	}
	json_object_object_add(status, "losses", session_losses(session, LOSSES_TOLD));
	json_object_object_add(status, "missing", json_object_get(session->missing));
	add_u64(status, "owner_uid", session->owner.uid);
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

static void missing_add(struct json_object *missing, enum iotr_stream stream, size_t operation, const char *reason)
{
	struct json_object *entry = json_object_new_object();

	add_string(entry, "stream", iotr_schemas[stream].flag);
	add_string(entry, "operation", iotr_schemas[stream].operations[operation]);
	add_string(entry, "reason", reason);
	json_object_array_add(missing, entry);
}

static void operation_missing(const struct engine *engine, enum iotr_stream stream, size_t operation,
			      struct json_object *missing)
{
	const char *reason;

	if (!probes_hook(engine->probes, stream, operation, &reason))
		missing_add(missing, stream, operation, reason);
}

/*
 * Operations of calls that name a file by its path: those whose result identifies the file (`tell`), or the
 * others.
 */
static uint64_t operations_by_path(bool tell)
{
	const uint32_t tells = IOTR_CALL_OPENS | IOTR_CALL_CHDIR | IOTR_CALL_STAT | IOTR_CALL_STATX;
	uint64_t operations = 0;

	for (size_t i = 0; i < call_count; i++)
		if (calls[i].row.path && !calls[i].row.fd && !(calls[i].row.traits & tells) == !tell)
			operations |= call_operations(&calls[i]);
	return operations;
}

/*
 * Adds what --device leaves out, because the device of a path is not known: at tracepoint level every operation
 * by path whose result does not identify the file, at function level those without a hook for the inode. At both
 * levels failing calls are left out, too; at function level that is reported only if the session records errors
 * alone.
 */
static void devices_missing(const struct engine *engine, const struct iotr_session_spec *spec,
			    struct json_object *missing)
{
	const bool tracepoint = probes_level(engine->probes) == PROBES_TRACEPOINT;
	const uint64_t tell = operations_by_path(true), by_path = operations_by_path(false) | tell,
		       unseen = 1ULL << IOTR_VFS_ACCESS | 1ULL << IOTR_VFS_MOUNT | 1ULL << IOTR_VFS_UMOUNT,
		       never = tracepoint ? by_path & ~tell : unseen,
		       failing = tracepoint || spec->errors ? by_path & ~never : 0,
		       wanted = spec->operations[IOTR_VFS].bits[0];

	if (!spec->device_count || !(spec->streams & 1u << IOTR_VFS))
		return;
	for (size_t i = 0; i < iotr_schemas[IOTR_VFS].operation_count; i++) {
		if (wanted && !(wanted >> i & 1))
			continue;
		if (never >> i & 1)
			missing_add(missing, IOTR_VFS, i, "by path: no hook of this level tells its device, which "
							  "--device asks for; --path does without");
		else if (failing >> i & 1)
			missing_add(missing, IOTR_VFS, i, "by path, where it fails: no device is known then, which "
							  "--device asks for; --path does without");
	}
}

struct json_object *missing_describe(const struct engine *engine, const struct iotr_session_spec *spec)
{
	struct json_object *missing = json_object_new_array();

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		for (size_t i = 0; spec->streams >> stream & 1 && i < iotr_schemas[stream].operation_count; i++)
			operation_missing(engine, stream, i, missing);
	devices_missing(engine, spec, missing);
	return missing;
}

/* Those of the stream's operations that use the hook. */
static uint64_t operations_of(const struct engine *engine, enum iotr_stream stream,
			      const struct probes_failure *failure)
{
	const char *slash = strrchr(failure->hook, '/');
	uint64_t operations = 0;

	if (failure->operations)
		return stream == IOTR_VFS ? failure->operations : 0;
	for (size_t i = 0; slash && i < iotr_schemas[stream].operation_count; i++) {
		const char *reason, *text = probes_hook(engine->probes, stream, i, &reason);

		if (text && strstr(text, slash + 1))
			operations |= 1ULL << i;
	}
	return operations;
}

/* `operation` is empty if the hook serves more than one. */
static void add_failure(struct json_object *missing, enum iotr_stream stream, const char *operation,
			const struct probes_failure *failure)
{
	struct json_object *entry = json_object_new_object();
	char reason[256];

	snprintf(reason, sizeof(reason), "%s cannot be attached: %s%s", failure->hook,
		 strerror(-failure->error), failure->error == -EMFILE ? DESCRIPTORS_ADVICE : "");
	add_string(entry, "stream", iotr_schemas[stream].flag);
	add_string(entry, "operation", operation);
	add_string(entry, "hook", failure->hook);
	add_string(entry, "reason", reason);
	json_object_array_add(missing, entry);
}

static void stream_failure(const struct engine *engine, enum iotr_stream stream,
			   const struct probes_failure *failure, struct json_object *missing)
{
	const struct iotr_schema *schema = &iotr_schemas[stream];
	uint64_t operations = operations_of(engine, stream, failure);

	if (!operations || operations == (1ULL << schema->operation_count) - 1) {
		add_failure(missing, stream, "", failure);
		return;
	}
	for (size_t i = 0; i < schema->operation_count; i++)
		if (operations >> i & 1)
			add_failure(missing, stream, schema->operations[i], failure);
}

void session_note_failures(struct session *session)
{
	struct engine *engine = session->engine;
	size_t count;
	const struct probes_failure *failures = probes_failures(engine->probes, &count);
	uint32_t also = session->spec.tree || session->spec.unit_count ? 1U << PROBES_PROCESS : 0;

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		uint32_t groups = probes_groups(engine->probes, probes_stream_groups(stream) | also);

		for (size_t i = 0; session->spec.streams >> stream & 1 && i < count; i++)
			if (groups >> failures[i].group & 1)
				stream_failure(engine, stream, &failures[i], session->missing);
	}
	if (session->writer && json_object_array_length(session->missing))
		writer_missing(session->writer, session->missing);
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
