// SPDX-License-Identifier: GPL-2.0-or-later
/* A session's life, from the request to its last row on disk. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "cleanup.h"
#include "definition.h"
#include "engine_resume.h"
#include "log.h"
#include "probes/control_page.h"
#include "schema.h"

struct session *engine_find(const struct engine *engine, const char *name)
{
	for (size_t i = 0; i < IOTR_SESSIONS_MAX; i++)
		if (engine->sessions[i] && !strcmp(engine->sessions[i]->spec.name, name))
			return engine->sessions[i];
	return NULL;
}

#define SESSION_FAILED "failed" /* it never began: nothing of it is kept */

static void session_free(struct session *session)
{
	if (!session)
		return;
	sd_event_source_disable_unref(session->duration);
	if (session->writer)
		engine_leave(session->engine, session->writer);
	session_snapshots_free(session);
	session_anonymize_done(session);
	recorder_free(session->recorder);
	json_object_put(session->missing);
	iotr_session_spec_done(&session->spec);
	free(session);
}

DEFINE_CLEANUP(struct session *, session_free);

/* Below a folder that was named, which has files by now; else where every session begins. */
static int folder_again(struct session *session, struct engine_error *error)
{
	char parent[PATH_MAX];
	char *slash;

	strcpy(parent, session->spec.output);
	while ((slash = strrchr(parent, '/')) && !slash[1])
		*slash = '\0';
	if (!slash)
		return -EINVAL;
	*slash = '\0';
	return output_create_default(parent, slash + 1, session->started.tv_sec, session->output,
				     error->message, sizeof(error->message));
}

static int folder_open(struct session *session, struct engine_error *error)
{
	if (session->spec.output[0] && session->resumes)
		return folder_again(session, error);
	if (!session->spec.output[0])
		return output_create_default(session->engine->config.log_dir, session->spec.name,
					     session->started.tv_sec, session->output,
					     error->message, sizeof(error->message));
	memcpy(session->output, session->spec.output, sizeof(session->output));
	return output_create(session->output, error->message, sizeof(error->message));
}

/* Opens the folder and starts the writer. */
static int session_open_writer(struct session *session, struct engine_error *error)
{
	const struct engine *engine = session->engine;
	_cleanup_json_ struct json_object *definition = definition_describe(&session->spec);
	_cleanup_json_ struct json_object *hooks = hooks_describe(engine, session->spec.streams);
	_cleanup_close_ int folder = -1;
	struct writer_config config = {
		.output = session->output,
		.streams = session->spec.streams,
		.session = session->spec.name,
		.level = level_name(probes_level(engine->probes)),
		.definition = definition,
		.hooks = hooks,
		.owner_uid = session->owner_uid,
		.format = session->spec.format,
		.max_size = session->spec.max_size,
		.max_events = session->spec.max_events,
		.rotate_size = session->spec.rotate_size,
		.rotate_interval_ns = session->spec.rotate_interval_ns,
		.notice = engine->notice,
	};
	int r;

	config.anonymize_key = session->anonymizer ? session->anonymize_key : NULL;
	folder = folder_open(session, error);
	if (folder < 0)
		return engine_fail(error, folder, "output", NULL);
	r = session_trace_new(session, folder);
	if (r < 0)
		return engine_fail(error, r, "", "out of memory");
	config.output_fd = folder;
	config.trace = session->trace;
	session_note(session, folder);
	if (session->resumes)
		add_string(definition, "resumes", session->resumes);
	r = writer_new(&config, &session->writer);
	if (r < 0) {
		session_forget(session);
		snprintf(error->message, sizeof(error->message), "cannot write in %.300s: %s",
			 session->output, strerror(-r));
		return engine_fail(error, r, "output", NULL);
	}
	r = session_snapshots_begin(session, folder);
	return r < 0 ? engine_fail(error, r, "", "cannot take snapshots") : 0;
}

static int session_open(struct session *session, struct engine_error *error)
{
	int r = session_anonymize(session, error);

	if (r < 0)
		return r;
	return session->spec.flight_recorder ? session_open_recorder(session, error) :
					       session_open_writer(session, error);
}

static int session_due(sd_event_source *source, uint64_t now, void *userdata)
{
	(void)source;
	(void)now;
	session_end(userdata, "duration");
	return 0;
}

/* Attaches what is needed and lets the rows flow. */
static int session_begin(struct session *session, struct engine_error *error)
{
	struct engine *engine = session->engine;
	struct filter_error why;
	int r;

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		session->missed_before[stream] = probes_missed(engine->probes, stream_groups(stream));
	r = place_take(session, session->place.bit, &session->place);
	if (r < 0)
		return engine_fail(error, r, "", "cannot route rows to the session");
	engine_report_soon(engine);
	consumer_run(engine->consumer, true);
	groups_attach(engine);
	r = control_page_set(engine->probes, session->place.bit, &session->spec, &why);
	if (r < 0)
		return filters_fail(error, r, &why);
	if (session->spec.duration_ns)
		r = sd_event_add_time_relative(engine->event, &session->duration, CLOCK_MONOTONIC,
					       session->spec.duration_ns / 1000, 1000, session_due,
					       session);
	rates_begin(session);
	bpf_cost_run(engine->bpf_cost);
	return r < 0 ? engine_fail(error, r, "", "cannot set the session's clock") : 0;
}

static bool stream_possible(const struct engine *engine, enum iotr_stream stream)
{
	const char *reason;

	for (size_t i = 0; i < iotr_schemas[stream].operation_count; i++)
		if (probes_hook(engine->probes, stream, i, &reason))
			return true;
	return false;
}

static int check_start(struct engine *engine, const struct iotr_session_spec *spec,
		       struct engine_error *error)
{
	int r = filters_check(spec, error);

	if (r < 0)
		return r;
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (spec->streams >> stream & 1 && stream_possible(engine, stream))
			return 0;
	return engine_fail(error, -EOPNOTSUPP, "streams", "the kernel refuses the hooks of these streams");
}

static void ended_forget(struct engine *engine, const char *name, struct json_object **ret)
{
	for (size_t i = 0; i < engine->ended_count; i++) {
		struct json_object *value = json_object_object_get(engine->ended[i], "name");

		if (strcmp(json_object_get_string(value), name))
			continue;
		if (ret)
			*ret = engine->ended[i];
		else
			json_object_put(engine->ended[i]);
		memmove(engine->ended + i, engine->ended + i + 1,
			(--engine->ended_count - i) * sizeof(engine->ended[0]));
		return;
	}
}

int engine_start(struct engine *engine, const struct iotr_session_spec *spec, uint32_t owner_uid,
		 struct json_object **ret, struct engine_error *error)
{
	return session_start(engine, spec, owner_uid, NULL, ret, error);
}

int session_start(struct engine *engine, const struct iotr_session_spec *spec, uint32_t owner_uid,
		  const char *resumes, struct json_object **ret, struct engine_error *error)
{
	_cleanup_(session_freep) struct session *session = NULL;
	int bit, r;

	if (engine_find(engine, spec->name))
		return engine_fail(error, -EEXIST, "name", "a session of that name is running");
	r = check_start(engine, spec, error);
	if (r < 0)
		return r;
	bit = place_find(engine);
	if (bit < 0)
		return engine_fail(error, bit, "", "64 sessions are running, which is the limit");
	session = calloc(1, sizeof(*session));
	if (!session)
		return engine_fail(error, -ENOMEM, "", "out of memory");
	session->engine = engine;
	session->place.bit = bit;
	session->left.bit = -1;
	session->owner_uid = owner_uid;
	session->resumes = resumes;
	clock_gettime(CLOCK_REALTIME, &session->started);
	session->missing = missing_describe(engine, spec->streams);
	r = iotr_session_spec_copy(&session->spec, spec);
	session_snapshots_resolve(engine, &session->spec.snapshots);
	if (r >= 0)
		r = session_open(session, error);
	if (r < 0 && !session->writer)
		return r;
	engine->sessions[bit] = session;
	if (r >= 0)
		r = session_begin(session, error);
	if (r < 0) {
		session_end(TAKE(session), SESSION_FAILED); /* freed when its writer has ended */
		return r;
	}
	ended_forget(engine, spec->name, NULL);
	*ret = session_status(session);
	session->resumes = NULL; /* is the caller's */
	TAKE(session);
	return 0;
}

uint64_t session_missed(const struct session *session, enum iotr_stream stream)
{
	return probes_missed(session->engine->probes, stream_groups(stream)) -
	       session->missed_before[stream];
}

void session_report(struct session *session)
{
	struct probes_loss loss;

	for (size_t stream = 0; session->writer && stream < IOTR_STREAM_COUNT; stream++) {
		if (!(session->spec.streams >> stream & 1))
			continue;
		session_loss(session, stream, &loss);
		writer_report(session->writer, stream,
			      &(struct writer_probes){ .emitted = loss.emitted,
						       .ring = loss.ring,
						       .unmatched = loss.unmatched,
						       .missed = session_missed(session, stream) });
	}
}

static void on_stopped(int result, const struct writer_paths *paths, void *userdata)
{
	struct session *session = userdata;

	(void)paths;
	(void)result; /* the writer has logged it, and tries again */
	session->written = true;
}

void session_end(struct session *session, const char *reason)
{
	struct engine *engine = session->engine;

	if (session->reason)
		return;
	if (strcmp(reason, "stopped"))
		log_info("session %s ends: %s", session->spec.name, reason);
	session->reason = reason;
	session->duration = sd_event_source_disable_unref(session->duration);
	session_snapshots_end(session);
	place_leave(session);
	control_page_clear(engine->probes, session->place.bit);
	consumer_drain(engine->consumer);
	router_detach(consumer_router(engine->consumer), session->place.bit);
	dump_detach(session);
	session_report(session);
	groups_release_later(engine);
	consumer_run(engine->consumer, groups_needed(engine));
	if (session->writer &&
	    writer_stop_begin(session->writer, reason, on_stopped, session) >= 0)
		return;
	session->written = true; /* nothing to write, or out of memory: writer_free() stops it */
	eventfd_write(engine->notice, 1);
}

/* The oldest goes when there are too many. */
static void ended_keep(struct engine *engine, struct json_object *status)
{
	if (engine->ended_count == ENDED_MAX) {
		json_object_put(engine->ended[0]);
		memmove(engine->ended, engine->ended + 1,
			--engine->ended_count * sizeof(engine->ended[0]));
	}
	engine->ended[engine->ended_count++] = status;
}

/* One that ends with the daemon goes on after it; a manifest that is not there may be set right. */
static void note_end(struct session *session)
{
	if (!strcmp(session->reason, SHUTDOWN))
		return;
	if (session->writer && writer_manifest_error(session->writer))
		running_move(session->engine->config.state_dir, session->note);
	else
		session_forget(session);
}

void session_finish(struct session *session)
{
	_cleanup_json_ struct json_object *status = NULL;
	struct engine *engine = session->engine;
	struct session_waiter *waiter = session->waiters, *next;
	bool failed = !strcmp(session->reason, SESSION_FAILED);

	tail_hub_end(session);
	note_end(session);
	status = session_status(session);
	engine->sessions[session->place.bit] = NULL;
	if (!waiter && !failed)
		ended_keep(engine, json_object_get(status));
	if (failed && session->writer)
		writer_remove(session->writer);
	session_free(session);
	for (; waiter; waiter = next) {
		next = waiter->next;
		waiter->handler(0, json_object_get(status), waiter->userdata);
		free(waiter);
	}
}

static int session_wait(struct session *session, engine_handler handler, void *userdata)
{
	struct session_waiter *waiter = calloc(1, sizeof(*waiter));

	if (!waiter)
		return -ENOMEM;
	*waiter = (struct session_waiter){ session->waiters, handler, userdata };
	session->waiters = waiter;
	return 0;
}

int engine_stop(struct engine *engine, const char *name, engine_handler handler, void *userdata)
{
	struct session *session = engine_find(engine, name);
	struct json_object *status = NULL;
	int r;

	if (!session) {
		ended_forget(engine, name, &status);
		if (!status)
			return -ENOENT;
		handler(0, status, userdata);
		return 0;
	}
	r = session_wait(session, handler, userdata);
	if (r < 0)
		return r;
	session_end(session, "stopped");
	if (session->written)
		session_finish(session);
	return 0;
}

struct rotation {
	engine_handler handler;
	void *userdata;
};

static void on_rotated(int result, const struct writer_paths *paths, void *userdata)
{
	struct rotation *rotation = userdata;
	struct json_object *closed = json_object_new_array();

	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (paths->paths[stream])
			json_object_array_add(closed,
					      json_object_new_string(paths->paths[stream]));
	rotation->handler(result, closed, rotation->userdata);
	free(rotation);
}

int engine_rotate(struct engine *engine, const char *name, engine_handler handler, void *userdata)
{
	struct session *session = engine_find(engine, name);
	struct rotation *rotation;
	int r;

	if (!session || session->reason)
		return -ENOENT;
	if (!session->writer)
		return -EOPNOTSUPP;
	rotation = malloc(sizeof(*rotation));
	if (!rotation)
		return -ENOMEM;
	*rotation = (struct rotation){ handler, userdata };
	consumer_drain(engine->consumer); /* what happened before the call is in the old segments */
	session_report(session);
	r = writer_rotate_begin(session->writer, on_rotated, rotation);
	if (r < 0)
		free(rotation);
	return r;
}
