// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "fake_rows.h"
#include "json_add.h"
#include "schema.h"
#include "spec/definition.h"

#define SLOW	  "slow"
#define SLOW_USEC 200000

struct engine_tail {
	struct engine *engine;
	struct engine_tail *next;
	engine_tail_handler handler;
	void *userdata;
	char name[IOTR_SESSION_NAME_MAX + 1];
};

struct engine_dump {
	sd_event_source *source;
	engine_dump_handler handler;
	void *userdata;
	uint64_t last_ns;
	char name[IOTR_SESSION_NAME_MAX + 1];
	char output[PATH_MAX];
};

struct session {
	struct iotr_session_spec spec;
	uint32_t owner_uid;
	sd_event_source *timer;
	struct engine *engine;
	bool used;
	int looks; /* at its status */
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

/* A row for every tail of the session. */
static void emit(struct engine *engine, const char *name)
{
	for (struct engine_tail *tail = engine->tails; tail; tail = tail->next)
		if (!strcmp(tail->name, name))
			tail->handler(fake_row(name), 0, tail->userdata);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct engine *engine = userdata;

	(void)usec;
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i].used)
			emit(engine, engine->sessions[i].spec.name);
	sd_event_source_set_time_relative(source, 100000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void engine_own(struct engine *engine, pid_t process, bool own)
{
	(void)engine, (void)process, (void)own;
}

void engine_set_storage(struct engine *engine, const struct engine_storage *limits)
{
	(void)engine;
	(void)limits;
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

/* As when its duration is over: tails are told, the session is gone. */
static void end(struct engine *engine, const char *name)
{
	struct session *session = find(engine, name);

	for (struct engine_tail *tail = engine->tails; tail; tail = tail->next)
		if (!strcmp(tail->name, name))
			tail->handler(NULL, 0, tail->userdata);
	if (session)
		release(session);
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

/* Of a session that is too short for one, and of one that takes its time. */
static struct json_object *snapshots_status(struct session *session)
{
	struct json_object *snapshots = json_object_new_object(), *one = json_object_new_object();
	bool lacking = !strcmp(session->spec.name, "lacking");

	add_string(one, "state", lacking ? "failed" : session->looks++ < 30 ? "running" : "done");
	if (lacking)
		add_string(one, "message", "the session ended before");
	json_object_object_add(snapshots, "process", one);
	return snapshots;
}

static struct json_object *session_status(struct session *session, const char *state)
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
				fake_stream_status(iotr_schemas[i].folder, session->spec.output));
	json_object_object_add(object, "streams", streams);
	json_object_object_add(object, "filters", definition_filters(&session->spec));
	json_object_object_add(object, "missing", missing_operations(session));
	if (!strcmp(session->spec.name, "lacking") || !strcmp(session->spec.name, "slow"))
		json_object_object_add(object, "snapshots", snapshots_status(session));
	json_object_object_add(object, "owner_uid", json_object_new_int64(session->owner_uid));
	return object;
}

static void copy_spec(struct iotr_session_spec *to, const struct iotr_session_spec *from)
{
	iotr_session_spec_copy(to, from);
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
	end(session->engine, session->spec.name);
	return 0;
}

bool engine_free(struct engine *engine)
{
	if (!engine)
		return true;
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		release(&engine->sessions[i]);
	sd_event_source_disable_unref(engine->ticker);
	free(engine);
	return true;
}

static void begin(struct session *session, engine_start_handler handler, void *userdata)
{
	struct engine_error error = { 0 };
	int r = 0;

	if (!strcmp(session->spec.output, "/refused"))
		r = refuse(&error, -ENOTEMPTY, "output", "the folder is not empty");
	else if (session->spec.duration_ns)
		sd_event_add_time_relative(session->engine->event, &session->timer, CLOCK_MONOTONIC,
					   session->spec.duration_ns / 1000, 0, on_duration, session);
	handler(r, r < 0 ? NULL : session_status(session, "running"), &error, userdata);
	if (r < 0)
		release(session);
}

int engine_start(struct engine *engine, const struct iotr_session_spec *spec, const struct rights *owner,
		 engine_start_handler handler, void *userdata, struct engine_error *error)
{
	struct session *session = NULL;

	if (find(engine, spec->name))
		return refuse(error, -EEXIST, "", "it runs already");
	if (!strcmp(spec->name, "nohook"))
		return refuse(error, -EOPNOTSUPP, "", "no stream has a hook");
	for (size_t i = 0; i < IOTR_SESSIONS_MAX && !session; i++)
		if (!engine->sessions[i].used)
			session = &engine->sessions[i];
	if (!session)
		return refuse(error, -ENOSPC, "", "too many");

	*session = (struct session){ .owner_uid = owner->uid, .engine = engine, .used = true };
	copy_spec(&session->spec, spec);
	begin(session, handler, userdata);
	return 0;
}

/* A result that takes its time, as on a slow disk. */
struct later {
	struct json_object *value;
	engine_handler handler;
	void *userdata;
};

static int on_later(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct later *later = userdata;

	(void)usec;
	later->handler(0, later->value, later->userdata);
	sd_event_source_unref(source);
	free(later);
	return 0;
}

int engine_set(struct engine *engine, const char *name, const struct engine_change *change,
	       engine_set_handler handler, void *userdata, struct engine_setting **ret,
	       struct engine_error *error)
{
	static const struct engine_error none;
	struct session *session = find(engine, name);

	*ret = NULL;
	if (!session)
		return refuse(error, -ENOENT, "name", "it does not run");
	for (int filter = 0; filter < IOTR_SPEC_FILTER_COUNT; filter++)
		if ((change->given | change->cleared) >> filter & 1)
			iotr_spec_filter_take(&session->spec,
					      change->given >> filter & 1 ? &change->spec : NULL, filter);
	handler(0, session_status(session, "running"), &none, userdata);
	return 0;
}

void engine_set_cancel(struct engine_setting *setting)
{
	(void)setting;
}

static void answer(struct engine *engine, const char *name, struct json_object *value,
		   engine_handler handler, void *userdata)
{
	struct later *later;
	sd_event_source *source;

	if (strncmp(name, SLOW, strlen(SLOW)) != 0) {
		handler(0, value, userdata);
		return;
	}
	later = malloc(sizeof(*later));
	*later = (struct later){ value, handler, userdata };
	sd_event_add_time_relative(engine->event, &source, CLOCK_MONOTONIC, SLOW_USEC,
				   1, on_later, later);
}

int engine_stop(struct engine *engine, const char *name, engine_handler handler, void *userdata)
{
	struct session *session = find(engine, name);
	char copy[IOTR_SESSION_NAME_MAX + 1];
	struct json_object *status;

	if (!session)
		return -ENOENT;
	snprintf(copy, sizeof(copy), "%s", name); /* it may go with who waits for the start */
	status = session_status(session, "ended");
	end(engine, copy);
	answer(engine, copy, status, handler, userdata);
	return 0;
}

int engine_rotate(struct engine *engine, const char *name, engine_handler handler, void *userdata)
{
	struct session *session = find(engine, name);
	struct json_object *closed;
	char path[PATH_MAX + 32];

	if (!session)
		return -ENOENT;
	if (session->spec.flight_recorder)
		return -EOPNOTSUPP;
	snprintf(path, sizeof(path), "%s/fs/fs_000001.csv", session->spec.output);
	closed = json_object_new_array();
	json_object_array_add(closed, json_object_new_string(path));
	answer(engine, name, closed, handler, userdata);
	return 0;
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

static int on_dumped(sd_event_source *source, void *userdata)
{
	struct engine_dump *dump = userdata;
	struct json_object *object = json_object_new_object(), *streams = json_object_new_object();
	struct engine_error error = { .message = "cannot write in /full: the disk is full" };

	(void)source;
	if (!strcmp(dump->output, "/refused"))
		error = (struct engine_error){ "output", "the folder is not empty" };
	if (!strcmp(dump->output, "/full") || *error.parameter) {
		json_object_put(streams);
		json_object_put(object);
		object = NULL;
	} else {
		add_string(object, "name", dump->name);
		add_string(object, "output", dump->output);
		json_object_object_add(object, "whole", json_object_new_boolean(!dump->last_ns));
		json_object_object_add(object, "from_mono_ns", json_object_new_int64(1000000000));
		json_object_object_add(object, "to_mono_ns", json_object_new_int64(4000000000));
		json_object_object_add(streams, "vfs", fake_stream_status("fs", dump->output));
		json_object_object_del(json_object_object_get(streams, "vfs"), "lost");
		json_object_object_add(object, "streams", streams);
	}
	if (dump->handler)
		dump->handler(object, &error, dump->userdata);
	else
		json_object_put(object);
	sd_event_source_disable_unref(dump->source);
	free(dump);
	return 0;
}

int engine_dump_new(struct engine *engine, const char *name, uint64_t last_ns, const char *output,
		    const struct rights *caller, engine_dump_handler handler, void *userdata, struct engine_dump **ret,
		    struct engine_error *error)
{
	struct session *session = find(engine, name);
	struct engine_dump *dump;

	(void)caller;
	(void)error;
	if (!session)
		return -ENOENT;
	if (!session->spec.flight_recorder)
		return -EOPNOTSUPP;
	dump = calloc(1, sizeof(*dump));
	if (!dump)
		return -ENOMEM;
	*dump = (struct engine_dump){ .handler = handler, .userdata = userdata, .last_ns = last_ns };
	snprintf(dump->name, sizeof(dump->name), "%s", name);
	snprintf(dump->output, sizeof(dump->output), "%s", *output ? output : "/var/log/dump");
	sd_event_add_defer(engine->event, &dump->source, on_dumped, dump);
	*ret = dump;
	return 0;
}

void engine_dump_forget(struct engine_dump *dump)
{
	dump->handler = NULL;
}

int engine_cost(struct engine *engine, struct json_object **ret)
{
	(void)engine;
	*ret = json_tokener_parse("{\"cpu_ns\": 5000000000, \"cpu_ns_per_s\": 15000000, \"bpf\": "
				  "{\"ns_per_s\": 2500000, \"runs_per_s\": 10000, \"ns_per_run\": 250}}");
	return 0;
}

const char *engine_look_order(const char *name)
{
	return !strcmp(name, "rows") ? "rows" : !strcmp(name, "bytes") ? "bytes" : NULL;
}

int engine_look(struct engine *engine, const char *name, const struct engine_look *look,
		uint64_t *since_ns, struct json_object **ret)
{
	if (!find(engine, name))
		return -ENOENT;
	(void)look;
	++*since_ns;
	*ret = json_tokener_parse("{\"rows\": 7, \"groups\": 1, \"others\": 0, \"whole\": true, "
				  "\"interval_ns\": 1000000000, \"top\": [{\"pid\": 4711, \"command\": "
				  "\"fake\", \"stream\": \"vfs\", \"operation\": \"READ\", \"path\": "
				  "\"/etc/passwd\", \"rows\": 7, \"bytes\": 4096, \"latency_ns\": 1500, "
				  "\"latency_max_ns\": 3000}]}");
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

int engine_wait_new(struct engine *engine, engine_wait_handler handler, void *userdata, struct engine_wait **ret)
{
	(void)engine, (void)handler, (void)userdata;
	*ret = NULL; /* it has no programs */
	return 0;
}

void engine_wait_free(struct engine_wait *wait)
{
	(void)wait;
}

struct engine_doctor {
	struct engine *engine;
	engine_doctor_handler handler;
	void *userdata;
	sd_event_source *timer;
};

/* While a session "silent" runs, one hook is. */
static struct json_object *fake_checks(struct engine *engine)
{
	const struct {
		const char *check, *detail, *test;
		bool ok;
	} checks[] = {
		{ "BTF", "/sys/kernel/btf/vmlinux", NULL, true },
		{ "function hooks", "refused by the kernel", NULL, false },
		{ "vfs.READ", "fake", "rows", true },
		{ "vfs.SYNC", "fake", find(engine, "silent") ? "none" : "untried", !find(engine, "silent") },
	};
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct json_object *check = json_object_new_object();

		add_string(check, "check", checks[i].check);
		json_object_object_add(check, "ok", json_object_new_boolean(checks[i].ok));
		add_string(check, "detail", checks[i].detail);
		if (checks[i].test) {
			add_string(check, "test", checks[i].test);
			json_object_object_add(check, "rows", json_object_new_int(7));
		}
		json_object_array_add(array, check);
	}
	return array;
}

static int on_diagnosis(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct engine_doctor *doctor = userdata;

	(void)source, (void)usec;
	doctor->handler(fake_checks(doctor->engine), doctor->userdata);
	return 0;
}

int engine_doctor_new(struct engine *engine, engine_doctor_handler handler, void *userdata,
		      struct engine_doctor **ret)
{
	struct engine_doctor *doctor = calloc(1, sizeof(*doctor));
	int r;

	if (!doctor)
		return -ENOMEM;
	*doctor = (struct engine_doctor){ engine, handler, userdata, NULL };
	r = sd_event_add_time_relative(engine->event, &doctor->timer, CLOCK_MONOTONIC, 100000, 1,
				       on_diagnosis, doctor);
	if (r < 0) {
		free(doctor);
		return r;
	}
	*ret = doctor;
	return 0;
}

void engine_doctor_free(struct engine_doctor *doctor)
{
	if (!doctor)
		return;
	sd_event_source_disable_unref(doctor->timer);
	free(doctor);
}

int engine_tail_new(struct engine *engine, const char *name, uint32_t stream_mask,
		    engine_tail_handler handler, void *userdata, struct engine_tail **ret)
{
	struct engine_tail *tail;

	(void)stream_mask;
	if (!find(engine, name))
		return -ENOENT;
	if (find(engine, name)->spec.flight_recorder)
		return -EOPNOTSUPP;
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

sd_event *fake_engine_event(const struct engine *engine)
{
	return engine->event;
}
