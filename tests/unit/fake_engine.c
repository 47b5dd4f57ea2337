// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "schema.h"

struct engine_tail {
	struct engine *engine;
	struct engine_tail *next;
	engine_tail_handler handler;
	void *userdata;
	char name[IOTR_SESSION_NAME_MAX + 1];
};

struct session {
	struct iotr_session_spec spec;
	uint32_t owner_uid;
	sd_event_source *timer;
	struct engine *engine;
	bool used;
};

struct engine {
	sd_event *event;
	struct session sessions[IOTR_SESSIONS_MAX];
	struct engine_tail *tails;
	sd_event_source *ticker; /* a row now and then, for who watches */
};

static struct session *find(struct engine *engine, const char *name)
{
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i].used && !strcmp(engine->sessions[i].spec.name, name))
			return &engine->sessions[i];
	return NULL;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct engine *engine = userdata;

	(void)usec;
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i].used)
			fake_engine_emit(engine, engine->sessions[i].spec.name, 1);
	sd_event_source_set_time_relative(source, 100000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int engine_new(const struct engine_config *config, sd_event *event, struct engine **ret,
	       struct engine_error *error)
{
	struct engine *engine;

	if (config->level && !strcmp(config->level, "function")) {
		snprintf(error->message, sizeof(error->message), "function hooks are not there");
		return -EOPNOTSUPP;
	}
	engine = calloc(1, sizeof(*engine));
	if (!engine)
		return -ENOMEM;
	engine->event = event;
	sd_event_add_time_relative(event, &engine->ticker, CLOCK_MONOTONIC, 100000, 0, on_tick,
				   engine);
	*ret = engine;
	return 0;
}

static void release(struct session *session)
{
	iotr_session_spec_done(&session->spec);
	sd_event_source_disable_unref(session->timer);
	memset(session, 0, sizeof(*session));
}

void engine_free(struct engine *engine)
{
	if (!engine)
		return;
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		release(&engine->sessions[i]);
	sd_event_source_disable_unref(engine->ticker);
	free(engine);
}

static void add_string(struct json_object *object, const char *key, const char *value)
{
	json_object_object_add(object, key, json_object_new_string(value));
}

static struct json_object *stream_status(const char *folder, const char *output)
{
	static const char *const losses[] = { "ring", "queue", "disk", "unmatched" };
	struct json_object *stream = json_object_new_object(), *lost = json_object_new_object();
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", output, folder);
	for (size_t i = 0; i < 4; i++)
		json_object_object_add(lost, losses[i], json_object_new_int64(i == 1 ? 3 : 0));
	json_object_object_add(stream, "emitted", json_object_new_int64(1234567));
	json_object_object_add(stream, "written", json_object_new_int64(1234564));
	json_object_object_add(stream, "lost", lost);
	json_object_object_add(stream, "bytes", json_object_new_int64(98765432));
	json_object_object_add(stream, "segments", json_object_new_int64(2));
	add_string(stream, "path", path);
	return stream;
}

static struct json_object *missing_operations(const struct session *session)
{
	struct json_object *array = json_object_new_array(), *row;

	if (strcmp(session->spec.name, "partial"))
		return array;
	row = json_object_new_object();
	add_string(row, "stream", "block");
	add_string(row, "operation", "DISCARD");
	add_string(row, "reason", "the kernel has no tracepoint for it");
	json_object_array_add(array, row);
	return array;
}

static struct json_object *session_status(const struct session *session, const char *state)
{
	struct json_object *object = json_object_new_object(), *streams = json_object_new_object();

	add_string(object, "name", session->spec.name);
	add_string(object, "state", state);
	add_string(object, "started", "2024-05-06T07:08:09Z");
	add_string(object, "output", session->spec.output);
	add_string(object, "level", "tracepoint");
	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++)
		if (session->spec.streams & 1u << i)
			json_object_object_add(
				streams, iotr_schemas[i].flag,
				stream_status(iotr_schemas[i].folder, session->spec.output));
	json_object_object_add(object, "streams", streams);
	json_object_object_add(object, "filters", json_object_new_object());
	json_object_object_add(object, "missing", missing_operations(session));
	json_object_object_add(object, "owner_uid", json_object_new_int64(session->owner_uid));
	return object;
}

static void *copy(const void *data, size_t size)
{
	void *memory = size ? malloc(size) : NULL;

	return memory ? memcpy(memory, data, size) : NULL;
}

static void copy_spec(struct iotr_session_spec *to, const struct iotr_session_spec *from)
{
	*to = *from;
	to->pids = copy(from->pids, from->pid_count * sizeof(*from->pids));
	to->commands = copy(from->commands, from->command_count * sizeof(*from->commands));
	to->uids = copy(from->uids, from->uid_count * sizeof(*from->uids));
	to->devices = copy(from->devices, from->device_count * sizeof(*from->devices));
	if (!*to->output)
		snprintf(to->output, sizeof(to->output), "/var/log/iotracer/%s/20240506T070809Z",
			 to->name);
}

static int refuse(struct engine_error *error, int r, const char *parameter, const char *message)
{
	snprintf(error->parameter, sizeof(error->parameter), "%s", parameter);
	snprintf(error->message, sizeof(error->message), "%s", message);
	return r;
}

static int on_duration(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct session *session = userdata;

	(void)source, (void)usec;
	fake_engine_end(session->engine, session->spec.name);
	return 0;
}

int engine_start(struct engine *engine, const struct iotr_session_spec *spec, uint32_t owner_uid,
		 struct json_object **ret, struct engine_error *error)
{
	struct session *session = NULL;

	if (find(engine, spec->name))
		return refuse(error, -EEXIST, "", "it runs already");
	if (!strcmp(spec->name, "nohook"))
		return refuse(error, -EOPNOTSUPP, "", "no stream has a hook");
	if (!strcmp(spec->output, "/refused"))
		return refuse(error, -ENOTEMPTY, "output", "the folder is not empty");
	for (size_t i = 0; i < IOTR_SESSIONS_MAX && !session; i++)
		if (!engine->sessions[i].used)
			session = &engine->sessions[i];
	if (!session)
		return refuse(error, -ENOSPC, "", "too many");

	*session = (struct session){ .owner_uid = owner_uid, .engine = engine, .used = true };
	copy_spec(&session->spec, spec);
	if (spec->duration_ns)
		sd_event_add_time_relative(engine->event, &session->timer, CLOCK_MONOTONIC,
					   spec->duration_ns / 1000, 0, on_duration, session);
	*ret = session_status(session, "running");
	return 0;
}

int engine_stop(struct engine *engine, const char *name, struct json_object **ret)
{
	struct session *session = find(engine, name);

	if (!session)
		return -ENOENT;
	*ret = session_status(session, "ended");
	fake_engine_end(engine, name);
	return 0;
}

int engine_rotate(struct engine *engine, const char *name, struct json_object **ret)
{
	struct session *session = find(engine, name);
	char path[PATH_MAX + 32];

	if (!session)
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/fs/fs_000001.csv", session->spec.output);
	*ret = json_object_new_array();
	return json_object_array_add(*ret, json_object_new_string(path));
}

int engine_status(struct engine *engine, const char *name, struct json_object **ret)
{
	if (name && !find(engine, name))
		return -ENOENT;
	*ret = json_object_new_array();
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++) {
		struct session *session = &engine->sessions[i];

		if (session->used && (!name || !strcmp(session->spec.name, name)))
			json_object_array_add(*ret, session_status(session, "running"));
	}
	return 0;
}

int engine_streams(struct engine *engine, struct json_object **ret)
{
	(void)engine;
	*ret = json_object_new_array();
	for (size_t i = 0; i < IOTR_STREAM_COUNT; i++) {
		struct json_object *stream = json_object_new_object();
		struct json_object *operations = json_object_new_array();

		for (size_t j = 0; j < iotr_schemas[i].operation_count; j++) {
			struct json_object *operation = json_object_new_object();

			add_string(operation, "operation", iotr_schemas[i].operations[j]);
			add_string(operation, j % 3 ? "hook" : "reason",
				   j % 3 ? "fake" : "no hook");
			json_object_array_add(operations, operation);
		}
		add_string(stream, "flag", iotr_schemas[i].flag);
		add_string(stream, "doc", iotr_schemas[i].doc);
		json_object_object_add(stream, "operations", operations);
		json_object_array_add(*ret, stream);
	}
	return 0;
}

int engine_doctor(struct engine *engine, struct json_object **ret)
{
	static const char *const checks[] = { "BTF", "function hooks" };

	(void)engine;
	*ret = json_object_new_array();
	for (size_t i = 0; i < 2; i++) {
		struct json_object *check = json_object_new_object();

		add_string(check, "check", checks[i]);
		json_object_object_add(check, "ok", json_object_new_boolean(i == 0));
		add_string(check, "detail",
			   i ? "refused by the kernel" : "/sys/kernel/btf/vmlinux");
		json_object_array_add(*ret, check);
	}
	return 0;
}

int engine_tail_new(struct engine *engine, const char *name, uint32_t stream_mask,
		    engine_tail_handler handler, void *userdata, struct engine_tail **ret)
{
	struct engine_tail *tail;

	(void)stream_mask;
	if (!find(engine, name))
		return -ENOENT;
	tail = calloc(1, sizeof(*tail));
	if (!tail)
		return -ENOMEM;
	*tail = (struct engine_tail){ engine, engine->tails, handler, userdata, "" };
	strcpy(tail->name, name);
	engine->tails = tail;
	*ret = tail;
	return 0;
}

void engine_tail_free(struct engine_tail *tail)
{
	struct engine_tail **link = &tail->engine->tails;

	while (*link != tail)
		link = &(*link)->next;
	*link = tail->next;
	free(tail);
}

const struct iotr_session_spec *fake_engine_spec(struct engine *engine, const char *name)
{
	struct session *session = find(engine, name);

	return session ? &session->spec : NULL;
}

static struct json_object *row(const char *name)
{
	struct json_object *object = json_object_new_object(), *columns = json_object_new_object();

	add_string(object, "stream", "vfs");
	add_string(columns, "timestamp", "2024-05-06 07:08:09.123456789");
	add_string(columns, "operation", "READ");
	add_string(columns, "pid", "4711");
	add_string(columns, "tid", "4711");
	add_string(columns, "command", name);
	add_string(columns, "filename", "/etc/passwd");
	add_string(columns, "size", "4096");
	add_string(columns, "latency_ns", "12345");
	add_string(columns, "mmap_prot", "");
	json_object_object_add(object, "columns", columns);
	return object;
}

void fake_engine_emit(struct engine *engine, const char *name, unsigned count)
{
	for (; count; count--)
		for (struct engine_tail *tail = engine->tails; tail; tail = tail->next)
			if (!strcmp(tail->name, name))
				tail->handler(row(name), 0, tail->userdata);
}

void fake_engine_end(struct engine *engine, const char *name)
{
	struct session *session = find(engine, name);

	for (struct engine_tail *tail = engine->tails; tail; tail = tail->next)
		if (!strcmp(tail->name, name))
			tail->handler(NULL, 0, tail->userdata);
	if (session)
		release(session);
}

size_t fake_engine_tails(const struct engine *engine)
{
	size_t count = 0;

	for (const struct engine_tail *tail = engine->tails; tail; tail = tail->next)
		count++;
	return count;
}

void fake_engine_quiet(struct engine *engine)
{
	engine->ticker = sd_event_source_disable_unref(engine->ticker);
}

/* ---- snapshots: one file, half a progress before it ---- */

struct engine_snapshot {
	sd_event_source *source;
	engine_snapshot_handler handler;
	void *userdata;
	struct engine_snapshot_request request;
	char output[PATH_MAX], root[PATH_MAX];
	bool told;
};

int engine_snapshot_kind(const char *name)
{
	static const char *const names[] = { "system", "process", "filesystem" };

	for (int i = 0; i < 3; i++)
		if (!strcmp(names[i], name))
			return i;
	return -ENOENT;
}

static struct json_object *snapshot_done(const struct engine_snapshot *snapshot)
{
	struct json_object *done = json_object_new_object(), *list = json_object_new_array();
	struct json_object *entry = json_object_new_object();

	add_string(entry, "kind", "filesystem");
	add_string(entry, "path", "filesystem_snapshot/filesystem_snap_000001.csv.gz");
	json_object_object_add(entry, "rows", json_object_new_int64(snapshot->request.depth));
	json_object_object_add(entry, "complete", json_object_new_boolean(true));
	json_object_array_add(list, entry);
	add_string(done, "output", snapshot->output);
	json_object_object_add(done, "snapshots", list);
	return done;
}

static int on_snapshot(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct engine_snapshot *snapshot = userdata;
	struct engine_error error = { 0 };
	struct json_object *progress;

	(void)usec;
	if (snapshot->told) {
		if (!strcmp(snapshot->root, "/absent"))
			strcpy(error.message, "/absent: No such file or directory");
		snapshot->handler(NULL, snapshot_done(snapshot), &error, snapshot->userdata);
		return 0;
	}
	snapshot->told = true;
	progress = json_object_new_object();
	add_string(progress, "kind", "filesystem");
	json_object_object_add(progress, "rows", json_object_new_int64(7));
	snapshot->handler(progress, NULL, &error, snapshot->userdata);
	sd_event_source_set_time_relative(source, 10000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int engine_snapshot_new(struct engine *engine, const struct engine_snapshot_request *request,
			engine_snapshot_handler handler, void *userdata,
			struct engine_snapshot **ret, struct engine_error *error)
{
	struct engine_snapshot *snapshot;

	if (request->name && !find(engine, request->name))
		return -ENOENT;
	if (request->output && !strcmp(request->output, "/full")) {
		snprintf(error->parameter, sizeof(error->parameter), "output");
		snprintf(error->message, sizeof(error->message), "it holds something");
		return -ENOTEMPTY;
	}
	snapshot = calloc(1, sizeof(*snapshot));
	if (!snapshot)
		return -ENOMEM;
	snapshot->handler = handler;
	snapshot->userdata = userdata;
	snapshot->request = *request;
	snprintf(snapshot->output, sizeof(snapshot->output), "%s", request->output ?: "/somewhere");
	snprintf(snapshot->root, sizeof(snapshot->root), "%s", request->root ?: "/");
	sd_event_add_time_relative(engine->event, &snapshot->source, CLOCK_MONOTONIC, 1000, 0,
				   on_snapshot, snapshot);
	*ret = snapshot;
	return 0;
}

void engine_snapshot_free(struct engine_snapshot *snapshot)
{
	if (!snapshot)
		return;
	sd_event_source_disable_unref(snapshot->source);
	free(snapshot);
}
